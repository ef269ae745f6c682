import { folderKind } from '../folder/kind.ts'
import { httpKind } from '../http/kind.ts'
import type { ConnectorKind } from '../kind.ts'
import { objectStorageKind } from '../object-storage/kind.ts'
import { sftpKind } from '../sftp/kind.ts'

/** Every kind of source. Configuration, runs, checks and `rollcall init` use only this list. */
export const connectorKinds: readonly [ConnectorKind, ...ConnectorKind[]] = [
  folderKind,
  sftpKind,
  httpKind,
  objectStorageKind,
]

/** The kind of a `type` from a parsed configuration. Throws if there is none. */
export function requireConnectorKind(type: string): ConnectorKind {
  const kind = findConnectorKind(type)
  if (kind === undefined) throw new Error(`there is no kind of source "${type}"`)
  return kind
}

/** The kind of this `type`; undefined if there is none. */
export function findConnectorKind(type: unknown): ConnectorKind | undefined {
  return connectorKinds.find(({ types }) => types.some((one) => one === type))
}
