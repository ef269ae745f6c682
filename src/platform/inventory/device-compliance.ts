import type { Selectable } from 'kysely'
import type { Device, DeviceComplianceCheck, DeviceIdentifier } from '../../contract/platform/devices.ts'
import { deviceChecks } from '../compliance/device-checks.ts'
import { presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import type { DocumentRow } from '../documents/documents.ts'

type Row = Selectable<PlatformSchema['devices']>

/** The identifiers of a device. The index is part of an identifier's id: add entries at the end only. */
const keys = [
  { type: 'SERIAL_NUMBER', column: 'serial_number' },
  { type: 'MAC_ADDRESS', column: 'mac_address' },
  { type: 'EXTERNAL_ID', column: 'external_id' },
] as const

const idsPerDevice = 100

/** The checks of a device, and whether all pass. A document outweighs a setting; a setting that was never reported is MISCONFIGURED. */
export function complianceOf(
  row: Row,
  documents: readonly DocumentRow[],
): Required<Pick<Device, 'isDeviceCompliant' | 'complianceChecks'>> {
  const complianceChecks = deviceChecks.map(({ type, setting, document }, index) => {
    const proof = documents.findLast((candidate) => candidate.type === document)
    const completionDate = proof?.completed_at.toISOString() ?? null
    return { ...presentCheck(row, type, index, proof ? true : row[setting]), completionDate }
  })
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
): Omit<DeviceComplianceCheck, 'completionDate'> {
  return {
    id: partId(row, index),
    type,
    status: isOn === null ? 'MISCONFIGURED' : isOn ? 'PASS' : 'FAIL',
    checkFrequency: 'DAILY',
    expiresAt: null,
    lastCheckedAt: row.last_checked_at.toISOString(),
    ...presentTimes(row),
  }
}

function partId({ id }: Row, index: number): number {
  return id * idsPerDevice + index
}
