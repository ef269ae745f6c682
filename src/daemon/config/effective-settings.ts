import type { Setting } from '../../contract/control/settings.ts'
import type { ConfigDocument, Path } from './document.ts'
import { namesIn } from './references.ts'

type Origin = Setting['from'][number]

type KnownSettings = {
  readonly document: ConfigDocument
  readonly file: string
  /** The paths of secrets, joined by dots. */
  readonly secrets: ReadonlySet<string>
  /** The preset that a source or webhook names, and the settings it has; null if it names none. */
  readonly presetOf: (part: unknown) => { readonly name: string; readonly values: unknown } | null
}

/** Each setting of a checked configuration, with where its value comes from. */
export function effectiveSettings(values: unknown, known: KnownSettings): Setting[] {
  return leavesOf(values, []).map(({ path, value }) => {
    const written = known.document.writtenValueAt(path)
    const connection = path[0] === 'connections' && path.length > 1 ? String(path[1]) : null
    return {
      path: path.join('.'),
      connection,
      value: isSecret(path, value, known.secrets) ? null : shownValue(path, value, known.document),
      line: written?.line ?? null,
      from: originsOf(path, value, { values, ...known }),
    }
  })
}

type Leaf = { readonly path: Path; readonly value: unknown }

/** The values without members, and lists of such values. */
function leavesOf(value: unknown, path: Path): Leaf[] {
  if (value === undefined) return []
  if (typeof value !== 'object' || value === null) return [{ path, value }]
  if (Array.isArray(value) && value.every((member) => typeof member !== 'object')) return [{ path, value }]
  return Object.entries(value).flatMap(([name, member]) => leavesOf(member, [...path, name]))
}

function pathsIn(path: Path, value: unknown): Path[] {
  return [path, ...(Array.isArray(value) ? value.map((_, at) => [...path, at]) : [])]
}

function isSecret(path: Path, value: unknown, secrets: ReadonlySet<string>): boolean {
  if (value === '') return false
  const texts = Array.isArray(value) ? value : [value]
  return (
    pathsIn(path, value).some((settingPath) => secrets.has(settingPath.join('.'))) ||
    texts.some((text) => typeof text === 'string' && Boolean(URL.parse(text)?.password))
  )
}

function shownValue(path: Path, value: unknown, document: ConfigDocument): string {
  if (Array.isArray(value)) return value.map((member, at) => shownValue([...path, at], member, document)).join(', ')
  if (typeof value !== 'string') return value === null ? '' : String(value)
  // A resolved reference may hold a secret anywhere, and so may its placeholder.
  const written = document.writtenValueAt(path)?.written
  return written === undefined ? value : written.replaceAll(/(\$\{env:\w+):-[^}]*\}/g, '$1}')
}

function originsOf(
  path: Path,
  value: unknown,
  { document, file, values, presetOf }: KnownSettings & { values: unknown },
) {
  const written = document.writtenValueAt(path)
  if (written === null)
    return [presetOrigin(path, values, presetOf) ?? ({ kind: 'default', name: null } satisfies Origin)]
  const origins = pathsIn(path, value).flatMap((settingPath): Origin[] => {
    const text = document.writtenValueAt(settingPath)?.written
    return text === undefined ? [] : namesIn(text)
  })
  return origins.length > 0 ? origins : [{ kind: 'file', name: file } satisfies Origin]
}

function presetOrigin(path: Path, values: unknown, presetOf: KnownSettings['presetOf']): Origin | null {
  const [root, connection, part, ...rest] = path
  if (root !== 'connections' || connection === undefined || part === undefined) return null
  const preset = presetOf(memberAt(values, [root, connection, part]))
  return preset !== null && memberAt(preset.values, rest) !== undefined ? { kind: 'preset', name: preset.name } : null
}

function memberAt(values: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (parent, name) => (typeof parent === 'object' && parent !== null ? Reflect.get(parent, name) : undefined),
    values,
  )
}
