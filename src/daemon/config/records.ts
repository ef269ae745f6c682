import { accountProperties } from '../../identity/effective/accounts.ts'
import type { MappingInput } from '../../identity/mapping/mapping.ts'
import type { OwnField } from '../../identity/record.ts'
import type { Property } from '../../identity/shape/property.ts'
import type { compileShape, Shape } from '../../identity/shape/shape.ts'
import type { ConfigDocument, Path, Problem } from './document.ts'
import { propertiesOf, shapeOf } from './record-settings.ts'
import {
  type AlsoSettings,
  type ConfigFile,
  type ConnectionSettings,
  type FeedSettings,
  isDirectory,
} from './schema.ts'
import { readSource } from './source-settings.ts'

/** A placeholder for the record check if nothing is checked. */
export const noShapes: { readonly compileShape: typeof compileShape } = {
  compileShape() {
    throw new Error('no connection takes records')
  },
}

/** Whether any connection takes custom records. */
export function hasRecords(connections: ConfigFile['connections']): boolean {
  return Object.values(connections).some(({ target, also }) =>
    [target, ...Object.values(also).map((linked) => linked.target)].some(
      (one) => 'type' in one && one.type !== 'DIRECTORY',
    ),
  )
}

/** The settings of a linked connection. Its key and the handling of rows are those of the connection that it is linked to. */
export function linkedSettings(
  { source, schedule, blackouts }: ConnectionSettings,
  also: AlsoSettings,
): ConnectionSettings {
  const { fields, record, status, statusMeans, onBadCell, scope, outOfScope, absence, graceRuns, ...own } = also
  const read = readSource(source)
  const { identityId } = read?.fields ?? {}
  const key = identityId === undefined ? {} : { identityId }
  const rules = { fields: { ...key, ...fields }, record, status, absence, graceRuns, outOfScope }
  const linked = read && {
    ...read,
    ...rules,
    statusMeans: statusMeans ?? read.statusMeans,
    onBadCell: onBadCell ?? read.onBadCell,
    scope: scope ?? read.scope,
  }
  const timeZone = schedule?.timeZone ?? source?.timeZone
  const verify = own.verify === 'never' ? own.verify : { ...own.verify, timeZone: own.verify.timeZone ?? timeZone }
  const windows = blackouts.map((window) => ({ ...window, timeZone: window.timeZone ?? timeZone }))
  return { ...own, verify, blackouts: windows, also: {}, source: linked }
}

/** The form of records, and what the schema says of each property that any feed maps; null where records are those of people. */
export type Records = { readonly properties: ReadonlyMap<OwnField, Property> | null; readonly shape: Shape | null }

/** Checks the settings of records. */
export function recordsOf(
  { target, source, webhook, deliver, guards }: ConnectionSettings,
  { at, sourceAt }: { readonly at: Path; readonly sourceAt: Path },
  {
    document,
    compileShape: compile,
  }: { readonly document: ConfigDocument; readonly compileShape: typeof compileShape },
): Records & { readonly problems: readonly Problem[] } {
  const problems: Problem[] = []
  const refused = (path: Path, message: string) =>
    problems.push({ ...document.positionOf(path), message: `${path.join('.')}: ${message}` })
  if (isDirectory(target)) {
    refuseUnused({ source, guards }, { at, sourceAt, document }, refused)
    return { ...accountsOf(source, sourceAt, refused), problems }
  }
  const feeds = [
    { path: sourceAt, settings: source },
    { path: [...at, 'webhook'], settings: webhook },
  ]
  if (!('type' in target)) {
    for (const { path, settings } of feeds)
      if (settings?.record) refused([...path, 'record'], 'is for a target of type CUSTOM; people have fields')
    if (deliver !== undefined) refused([...at, 'deliver'], 'is for a target of type CUSTOM')
    return { properties: null, shape: null, problems }
  }
  const all = new Map<OwnField, Property>()
  for (const { path, settings } of feeds) {
    if (!settings) continue
    const names = Object.entries(settings.record ?? {}).flatMap(([name, rule]) => (rule === null ? [] : [name]))
    if (names.length === 0) refused([...path, 'record'], 'say which columns hold the properties of a record')
    for (const field of Object.keys(settings.fields ?? {}))
      if (!ofKeys.has(field)) refused([...path, 'fields', field], 'is a field of people: map it under record')
    const { properties, problems: ofProperties } = propertiesOf(target, names)
    for (const { property, message } of ofProperties) refused([...path, 'record', property], message)
    for (const [field, property] of properties) all.set(field, property)
  }
  if (propertiesOf(target, ['id']).problems.length > 0)
    refused([...at, 'target', 'schema'], 'allows no property id, which is the key of every record')
  const shape = shapeOf(target, all, compile)
  if (typeof shape === 'string') refused([...at, 'target', 'schema'], shape)
  return { properties: all, shape: typeof shape === 'string' ? null : shape, problems }
}

type SettingPaths = { readonly at: Path; readonly sourceAt: Path; readonly document: ConfigDocument }

/** Refuses settings of people that have no effect on accounts. */
function refuseUnused(
  { source, guards }: Pick<ConnectionSettings, 'source' | 'guards'>,
  { at, sourceAt, document }: SettingPaths,
  refuse: (path: Path, message: string) => void,
): void {
  const own = Object.keys(guards).filter((name) => name !== 'shrink' && name !== 'rejectedRows')
  const paths = [
    ...['verify', 'pinned', 'onHold', 'deliver', 'delivery', 'leavers'].map((name) => [...at, name]),
    ...own.map((name) => [...at, 'guards', name]),
    ...['statusMeans', 'severalRows', 'absence', 'graceRuns', 'outOfScope'].map((name) => [...sourceAt, name]),
  ]
  for (const path of paths) if (document.writtenValueAt(path) !== null) refuse(path, 'has no effect on a directory')
  if (source?.status) refuse([...sourceAt, 'status'], 'is of people: map enabled under record')
  if (source?.onBadCell === 'rejectRow')
    refuse([...sourceAt, 'onBadCell'], 'would leave out accounts of leavers: a directory keeps the row')
}

/** The properties of accounts. A preset can map them too. */
function accountsOf(
  source: ConnectionSettings['source'],
  sourceAt: Path,
  refuse: (path: Path, message: string) => void,
): Records {
  for (const name of Object.keys(source?.record ?? {}))
    if (!accountProperties.has(`.${name}`))
      refuse(
        [...sourceAt, 'record', name],
        `is no property of accounts; they have ${[...accountProperties.keys()].map((property) => property.slice(1)).join(', ')}`,
      )
  for (const field of Object.keys(source?.fields ?? {}))
    if (field !== 'identityId') refuse([...sourceAt, 'fields', field], 'is a field of people: map it under record')
  return { properties: accountProperties, shape: null }
}

/** What a mapping of records may state about a person: the key, and whether the person has left. */
const ofKeys: ReadonlySet<string> = new Set(['identityId', 'separatedAt'])

/** A mapping of records: of the preset, the key alone; each property with what the schema says of it. */
export function ofRecords(
  merged: MappingInput,
  { fields, status }: FeedSettings,
  properties: ReadonlyMap<OwnField, Property>,
): MappingInput {
  const kept = Object.entries(merged.fields).filter(
    ([field]) => field === 'identityId' || (field === 'separatedAt' && fields?.separatedAt),
  )
  const record = Object.entries(merged.record ?? {}).map(([name, rule]) => {
    const property = properties.get(`.${name}`)
    return [name, typeof rule === 'string' ? { column: rule, property } : { ...(rule as object), property }]
  })
  const { status: _status, ...rest } = merged
  return { ...rest, ...(status && { status }), fields: Object.fromEntries(kept), record: Object.fromEntries(record) }
}
