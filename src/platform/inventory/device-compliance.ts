import type { Selectable } from 'kysely'
import type { Device, DeviceComplianceCheck, DeviceIdentifier } from '../../contract/platform/devices.ts'
import { presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'

type Row = Selectable<PlatformSchema['devices']>

/** The compliance checks of a device. The index is part of a check's id: add entries at the end only. */
const checks = [
  { type: 'HDD_ENCRYPTION', setting: 'encryption_enabled' },
  { type: 'ANTIVIRUS', setting: 'antivirus_enabled' },
  { type: 'AUTO_UPDATES', setting: 'auto_update_enabled' },
  { type: 'LOCK_SCREEN', setting: 'screen_lock_enabled' },
  { type: 'PASSWORD_MANAGER', setting: 'password_manager_enabled' },
] as const

/** The identifiers of a device. The index is part of an identifier's id: add entries at the end only. */
const keys = [
  { type: 'SERIAL_NUMBER', column: 'serial_number' },
  { type: 'MAC_ADDRESS', column: 'mac_address' },
  { type: 'EXTERNAL_ID', column: 'external_id' },
] as const

const idsPerDevice = 100

/** The checks of a device, and whether all pass. A setting that was never reported is MISCONFIGURED. */
export function complianceOf(row: Row): Required<Pick<Device, 'isDeviceCompliant' | 'complianceChecks'>> {
  const complianceChecks = checks.map(({ type, setting }, index) => presentCheck(row, type, index, row[setting]))
  return { isDeviceCompliant: complianceChecks.every(({ status }) => status === 'PASS'), complianceChecks }
}

/** The identifiers that a device has. */
export function identifiersOf(row: Row): DeviceIdentifier[] {
  return keys.flatMap(({ type, column }, index) => {
    const identifier = row[column]
    return identifier === null ? [] : [{ id: partId(row, index), type, identifier, ...presentTimes(row) }]
  })
}

function presentCheck(
  row: Row,
  type: DeviceComplianceCheck['type'],
  index: number,
  isOn: boolean | null,
): DeviceComplianceCheck {
  return {
    id: partId(row, index),
    type,
    status: isOn === null ? 'MISCONFIGURED' : isOn ? 'PASS' : 'FAIL',
    checkFrequency: 'DAILY',
    expiresAt: null,
    lastCheckedAt: row.last_checked_at.toISOString(),
    completionDate: null,
    ...presentTimes(row),
  }
}

function partId({ id }: Row, index: number): number {
  return id * idsPerDevice + index
}
