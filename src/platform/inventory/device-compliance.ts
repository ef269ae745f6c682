import type { Selectable } from 'kysely'
import type { Device, DeviceComplianceCheck, DeviceIdentifier } from '../../contract/platform/devices.ts'
import type { PlatformSchema } from '../core/schema.ts'

type Row = Selectable<PlatformSchema['devices']>

/** What is checked of a device. The place in this table is part of a check's id, so entries are only ever added at the end. */
const checks = [
  { type: 'HDD_ENCRYPTION', setting: 'encryption_enabled' },
  { type: 'ANTIVIRUS', setting: 'antivirus_enabled' },
  { type: 'AUTO_UPDATES', setting: 'auto_update_enabled' },
  { type: 'LOCK_SCREEN', setting: 'screen_lock_enabled' },
  { type: 'PASSWORD_MANAGER', setting: 'password_manager_enabled' },
] as const

/** The keys of a device. The place in this table is part of an identifier's id. */
const keys = [
  { type: 'SERIAL_NUMBER', column: 'serial_number' },
  { type: 'MAC_ADDRESS', column: 'mac_address' },
  { type: 'EXTERNAL_ID', column: 'external_id' },
] as const

const idsPerDevice = 100

/** The checks of a device, and whether all of them pass. A setting that was never reported is neither passed nor failed. */
export function complianceOf(row: Row): Required<Pick<Device, 'isDeviceCompliant' | 'complianceChecks'>> {
  const complianceChecks = checks.map(({ type, setting }, index) =>
    presentCheck(row, { type, place: index, on: row[setting] }),
  )
  return { isDeviceCompliant: complianceChecks.every(({ status }) => status === 'PASS'), complianceChecks }
}

/** The keys by which a device is known. */
export function identifiersOf(row: Row): DeviceIdentifier[] {
  return keys.flatMap(({ type, column }, index) => {
    const identifier = row[column]
    return identifier === null ? [] : [{ id: partId(row, index), type, identifier, ...writtenAt(row) }]
  })
}

function presentCheck(
  row: Row,
  { type, place: index, on }: { type: DeviceComplianceCheck['type']; place: number; on: boolean | null },
): DeviceComplianceCheck {
  return {
    id: partId(row, index),
    type,
    status: on === null ? 'MISCONFIGURED' : on ? 'PASS' : 'FAIL',
    checkFrequency: 'DAILY',
    expiresAt: null,
    lastCheckedAt: row.last_checked_at.toISOString(),
    completionDate: null,
    ...writtenAt(row),
  }
}

function partId({ id }: Row, index: number): number {
  return id * idsPerDevice + index
}

function writtenAt(row: Row): { createdAt: string; updatedAt: string } {
  return { createdAt: row.created_at.toISOString(), updatedAt: row.updated_at.toISOString() }
}
