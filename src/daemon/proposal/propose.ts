import { foldValue } from '../../identity/mapping/fold-value.ts'
import { normaliseHeader } from '../../identity/mapping/headers.ts'
import { compileMapping, Mapping, type MappingPatch, mergePreset } from '../../identity/mapping/mapping.ts'
import { isTimeZone } from '../../identity/mapping/zones.ts'
import { type FieldName, fieldNames } from '../../identity/record.ts'
import type { Preset, Presets } from '../config/presets.ts'
import { type DateForm, dateEvidence, isAmong } from './dates.ts'
import type { Table } from './table.ts'

export type MappedField = 'identityId' | FieldName
export const mappedFields: readonly MappedField[] = ['identityId', ...fieldNames]

/** What a person has said, where the export alone does not say it or says it otherwise. */
export type Answers = {
  readonly preset?: string | undefined
  /** The column of a field; null: the field is not sent. */
  readonly fields?: Readonly<Partial<Record<MappedField, string | null>>>
  readonly dateFormat?: string | undefined
  /** By the status as the export has it. */
  readonly statuses?: Readonly<Record<string, 'left' | 'employed' | 'open'>>
  /** By the value of the contractor column as the export has it. */
  readonly contractors?: Readonly<Record<string, boolean | null>>
}

export type ProposedField = {
  readonly field: MappedField
  /** The headers that it is read from, joined by commas. */
  readonly column: string
  readonly examples: readonly string[]
  /** Why this column, where the preset does not name it. */
  readonly why: string | null
}

export type SeenValue = { readonly value: string; readonly rows: number }

/** Something that only a person knows. */
export type Question =
  | { readonly about: 'identityId'; readonly choices: readonly string[] }
  | { readonly about: 'dateFormat'; readonly columns: readonly string[]; readonly choices: readonly string[] }
  | { readonly about: 'status'; readonly column: string; readonly value: string; readonly rows: number }
  | { readonly about: 'contractor'; readonly column: string; readonly value: string; readonly rows: number }

/** A value that no list holds holds the plan; a wrong key or a day for a month would send nonsense. */
export function stopsPlans({ about }: Question): boolean {
  return about === 'identityId' || about === 'dateFormat'
}

/** How an export could be read: everything that a configuration needs to say about it, and what is still to be asked. */
export type Proposal = {
  readonly table: Table
  readonly preset: string
  readonly title: string
  /** How the preset's system writes its exports. */
  readonly form: Preset['format']
  /** Why this preset: how many of its fields the export has, and how many the next best has. */
  readonly why: string
  readonly fields: readonly ProposedField[]
  /** The columns that are not read. */
  readonly leftBehind: readonly string[]
  /** The mapping on top of the preset. */
  readonly mapping: MappingPatch
  readonly statuses: {
    readonly column: string
    readonly left: readonly SeenValue[]
    readonly employed: readonly SeenValue[]
    readonly open: readonly SeenValue[]
  } | null
  readonly contractors: {
    readonly column: string
    readonly contractor: readonly SeenValue[]
    readonly employee: readonly SeenValue[]
    readonly open: readonly SeenValue[]
  } | null
  readonly dates: readonly {
    readonly field: 'startedAt' | 'separatedAt'
    readonly column: string
    readonly format: string
    readonly why: string
  }[]
  readonly timeZone: { readonly name: string; readonly column: string } | null
  readonly questions: readonly Question[]
  readonly notes: readonly string[]
}

const examplesShown = 3
const valuesKept = 40
/** From this share of rows with a key of their own on, the column that a preset names is the key. */
const mostlyOwn = 0.75
const dateFields = ['startedAt', 'separatedAt'] as const
const likeEmail = /^[^\s@]+@[^\s@]+\.[^\s@]+$/

/** Proposes how the rows of an export become people. Nothing is guessed that would separate or hide somebody: it is asked. */
export function propose(table: Table, presets: Presets, answers: Answers = {}): Proposal {
  const notes = [...table.notes, ...doubledHeaders(table)]
  const { name, preset, why } = choosePreset(table, presets, answers)
  const words = thesaurus(presets)
  const key = keyColumn(table, preset, answers)
  const others = moreFields(table, preset, { presets, words, answers })
  const patch: MappingPatch = {
    fields: {
      ...others.fields,
      ...(key.override !== null && { identityId: { column: key.override } }),
    },
    ...(others.status !== undefined && { status: others.status }),
  }
  const dated = withDates(table, preset, { patch, answers })
  const statuses = seenStatuses(table, preset, { patch: dated.patch, words, answers })
  const contractors = seenContractors(table, preset, { patch: dated.patch, words, answers })
  const mapping = withValues(preset, dated.patch, { statuses, contractors })
  const texts = textsOf(table, preset, mapping)
  const fields = proposedFields(texts, { table, why: others.why })
  return {
    table,
    preset: name,
    title: preset.title,
    form: preset.format,
    why,
    fields,
    leftBehind: leftBehind(table, preset, mapping),
    mapping,
    statuses,
    contractors,
    dates: dated.dates,
    timeZone: zoneIn(table),
    questions: [
      ...(key.choices.length > 0 ? [{ about: 'identityId', choices: key.choices } as const] : []),
      ...dated.questions,
      ...(statuses?.open ?? [])
        .filter(({ value }) => answers.statuses?.[value] !== 'open')
        .map((seen) => ({ about: 'status', column: statuses?.column ?? '', ...seen }) as const),
      ...(contractors?.open ?? [])
        .filter(({ value }) => answers.contractors?.[value] === undefined)
        .map((seen) => ({ about: 'contractor', column: contractors?.column ?? '', ...seen }) as const),
    ],
    notes: [...notes, ...key.notes, ...dated.notes, ...absentFields(fields, statuses)],
  }
}

type StatusPatch = NonNullable<MappingPatch['status']>
type Rule = string | Readonly<Record<string, unknown>> | null | undefined

/** The names of columns that a rule knows, in the order in which they are looked for. */
function namesIn(rule: Rule): string[] {
  if (typeof rule === 'string') return [rule]
  if (rule === null || rule === undefined) return []
  const { column = [], firstOf = [] } = rule as { column?: string | string[]; firstOf?: (string | string[])[] }
  return [column, ...firstOf].flat(2)
}

function rulesOf({ mapping }: Preset): [string, string[]][] {
  const rules = Object.entries({ ...mapping.fields, status: mapping.status })
  return rules.flatMap(([field, rule]) => (rule === undefined ? [] : [[field, namesIn(rule as Rule)]]))
}

function choosePreset(
  table: Table,
  presets: Presets,
  answers: Answers,
): { readonly name: string; readonly preset: Preset; readonly why: string } {
  const headers = new Set(table.headers.map(normaliseHeader))
  const scored = [...presets].map(([name, preset]) => {
    const rules = rulesOf(preset)
    const found = rules.filter(([, names]) => names.some((column) => headers.has(normaliseHeader(column))))
    const hasKey = found.some(([field]) => field === 'identityId')
    return { name, preset, found: found.length, of: rules.length, hasKey, words: knownShare(table, preset) }
  })
  const ranked = scored.toSorted(
    (a, b) =>
      Number(b.hasKey) - Number(a.hasKey) ||
      b.found - a.found ||
      // What says no more of one system than of any other is not taken for an export of that system.
      Number(b.name === 'generic') - Number(a.name === 'generic') ||
      b.words - a.words ||
      b.found / b.of - a.found / a.of,
  )
  const named = ranked.find(({ name }) => name === answers.preset)
  const generic = ranked.find(({ name }) => name === 'generic')
  const [best] = ranked
  // An export of which no preset knows much is read by what its columns hold.
  const chosen = named ?? (best?.hasKey && best.found > 2 ? best : generic)
  if (chosen === undefined) throw new Error('there is no preset')
  const next = ranked.find(({ name }) => name !== chosen.name)
  const share = (one: typeof chosen) => `${one.found} of ${one.of}`
  const why = `${share(chosen)} of its fields are in the export${next === undefined ? '' : `; the next, ${next.name}, has ${share(next)}`}`
  return { name: chosen.name, preset: chosen.preset, why }
}

/** The share of the values of its status column that a preset knows. */
function knownShare(table: Table, { mapping }: Preset): number {
  const names = namesIn(mapping.status as Rule)
  const index = table.headers.findIndex((header) =>
    names.some((name) => normaliseHeader(name) === normaliseHeader(header)),
  )
  if (index < 0 || !mapping.status) return 0
  const known = new Set([...mapping.status.leftWhen, ...(mapping.status.employedWhen ?? [])].map(foldValue))
  const cells = cellsAt(table, index)
  return cells.filter((cell) => known.has(foldValue(cell))).length / Math.max(1, cells.length)
}

function cellsAt({ rows }: Table, index: number): string[] {
  return rows.map((row) => row[index] ?? '').filter((cell) => cell.trim() !== '')
}

/** What all presets together say that columns and values mean, where they do not contradict each other. */
type Thesaurus = {
  readonly fields: ReadonlyMap<string, string>
  readonly statuses: ReadonlyMap<string, 'left' | 'employed'>
  readonly contractors: ReadonlyMap<string, boolean>
}

function thesaurus(presets: Presets): Thesaurus {
  const fields = agreed(
    [...presets.values()].flatMap((preset) =>
      rulesOf(preset).flatMap(([field, names]) => names.map((name) => [normaliseHeader(name), field] as const)),
    ),
  )
  const statuses = agreed(
    [...presets.values()].flatMap(({ mapping: { status } }) => [
      ...(status?.leftWhen ?? []).map((value) => [foldValue(value), 'left'] as const),
      ...(status?.employedWhen ?? []).map((value) => [foldValue(value), 'employed'] as const),
    ]),
  )
  const contractors = agreed(
    [...presets.values()].flatMap(({ mapping }) => {
      const rule = mapping.fields?.isContractor
      const map = typeof rule === 'object' && rule !== null ? (rule.map ?? {}) : {}
      return Object.entries(map).flatMap(([value, means]) =>
        typeof means === 'boolean' ? [[foldValue(value), means] as const] : [],
      )
    }),
  )
  return { fields, statuses, contractors }
}

function agreed<V>(said: readonly (readonly [string, V])[]): ReadonlyMap<string, V> {
  const all = Map.groupBy(said, ([word]) => word)
  return new Map(
    [...all].flatMap(([word, [first, ...others]]) =>
      first !== undefined && others.every(([, means]) => means === first[1]) ? [[word, first[1]]] : [],
    ),
  )
}

type Key = { readonly override: string | null; readonly choices: readonly string[]; readonly notes: readonly string[] }

/** The column of the key: never one that is blank or held by two people, and asked for where several could be it. */
function keyColumn(table: Table, preset: Preset, { fields }: Answers): Key {
  const said = fields?.identityId
  if (said) return { override: said, choices: [], notes: [] }
  const names = namesIn(preset.mapping.fields?.identityId as Rule).map(normaliseHeader)
  const known = table.headers.filter((header) => names.includes(normaliseHeader(header)))
  const sound = known.filter((header) => isKeyLike(table, header))
  const [only, ...others] = sound
  if (only !== undefined && others.length === 0) {
    const isFirst =
      normaliseHeader(only) === names.find((name) => known.some((header) => normaliseHeader(header) === name))
    return { override: isFirst ? null : only, choices: [], notes: [] }
  }
  if (sound.length > 1) return { override: sound[0] ?? null, choices: sound, notes: [] }
  const [usual] = known
  if (usual !== undefined && known.length === 1 && !doubledNames(table).has(normaliseHeader(usual))) {
    const cells = cellsAt(table, table.headers.indexOf(usual))
    const note = `"${usual}" is the key, and ${table.rows.length - new Set(cells).size} rows lack one of their own. Such rows are rejected; docs/presets.md says how several rows of a person can count.`
    if (new Set(cells).size >= table.rows.length * mostlyOwn) return { override: null, choices: [], notes: [note] }
  }
  const candidates = table.headers.filter((header) => isKeyLike(table, header))
  const notes = known.map(
    (header) => `The column "${header}" could be the key, but it is blank for some people or the same for several.`,
  )
  const choices = [...new Set([...known, ...(candidates.length > 0 ? candidates : table.headers)])].filter(
    (header) => header.trim() !== '',
  )
  return { override: known[0] ?? candidates[0] ?? null, choices, notes }
}

function isKeyLike(table: Table, header: string): boolean {
  const same = table.headers.filter((other) => normaliseHeader(other) === normaliseHeader(header))
  if (same.length > 1 || normaliseHeader(header) === '') return false
  const cells = cellsAt(table, table.headers.indexOf(header))
  // A column of dates or names may happen to hold each value once.
  return (
    cells.length === table.rows.length &&
    new Set(cells).size === cells.length &&
    !cells.every((cell) => /\s/.test(cell.trim()))
  )
}

type Found = {
  readonly fields: NonNullable<MappingPatch['fields']>
  readonly status?: MappingPatch['status']
  readonly why: ReadonlyMap<string, string>
}

/** Fields that the preset does not find, by what other presets call them and by what columns hold; and what a person has said. */
function moreFields(
  table: Table,
  preset: Preset,
  { presets, words, answers }: { readonly presets: Presets; readonly words: Thesaurus; readonly answers: Answers },
): Found {
  const taken = new Set(rulesOf(preset).flatMap(([, names]) => names.map(normaliseHeader)))
  const has = new Map(
    rulesOf(preset).map(([field, names]) => [
      field,
      names.some((name) => table.headers.some((header) => normaliseHeader(header) === normaliseHeader(name))),
    ]),
  )
  const doubled = doubledNames(table)
  const isDoubled = (field: string) => {
    const names = rulesOf(preset).find(([one]) => one === field)?.[1] ?? []
    return names.some((name) => doubled.has(normaliseHeader(name)))
  }
  const fields: Record<string, unknown> = {}
  const why = new Map<string, string>()
  let status: MappingPatch['status']
  // A preset leaves a field out on purpose, as where a status does not tell leavers from people on leave.
  const isOpen = (field: string) => has.get(field) === false
  const elsewhere = (field: string) =>
    table.headers.find(
      (one) =>
        !taken.has(normaliseHeader(one)) &&
        !doubled.has(normaliseHeader(one)) &&
        words.fields.get(normaliseHeader(one)) === field &&
        fits(table, one, { field, words }),
    )
  for (const field of fieldNames) {
    const said = answers.fields?.[field]
    if (said === null || (said === undefined && isDoubled(field))) fields[field] = null
    else if (said !== undefined) {
      fields[field] = ruleFor(field, said, presets)
      why.set(field, 'as you said')
    } else if (isOpen(field)) {
      const header = elsewhere(field)
      const column = header ?? (field === 'email' ? emailColumn(table) : undefined)
      if (column === undefined) continue
      fields[field] = ruleFor(field, column, presets)
      why.set(field, header === undefined ? 'its cells are e-mail addresses' : 'another system calls it so')
    }
  }
  const column = isOpen('status') ? elsewhere('status') : undefined
  const leftWhen = [...words.statuses].flatMap(([value, means]) => (means === 'left' ? [value] : []))
  if (isDoubled('status')) status = null
  else if (column !== undefined) status = { column, leftWhen, employedWhen: [], optional: false }
  return { fields: fields as Found['fields'], ...(status !== undefined && { status }), why }
}

function ruleFor(field: FieldName, column: string, presets: Presets): Readonly<Record<string, unknown>> {
  if (field !== 'isContractor') return { column }
  const map = [...presets.values()].flatMap(({ mapping }) => {
    const rule = mapping.fields?.isContractor
    return typeof rule === 'object' &&
      rule !== null &&
      rule.map !== undefined &&
      namesIn(rule as Rule).some((name) => normaliseHeader(name) === normaliseHeader(column))
      ? [rule.map]
      : []
  })[0]
  return map === undefined ? { column } : { column, map }
}

/** Whether the cells of a column are of the kind that its name promises. */
function fits(
  table: Table,
  header: string,
  { field, words }: { readonly field: string; readonly words: Thesaurus },
): boolean {
  const cells = cellsAt(table, table.headers.indexOf(header))
  if (cells.length === 0) return false
  if (field === 'email' || field === 'secondaryEmail') return share(cells, (cell) => likeEmail.test(cell.trim())) > 0.8
  if (field === 'startedAt' || field === 'separatedAt')
    return dateEvidence(cells, { format: 'yyyy-MM-dd' }).kind !== 'unknown'
  if (field === 'status') return share(cells, (cell) => words.statuses.has(foldValue(cell))) > 0.5
  return true
}

function emailColumn(table: Table): string | undefined {
  return table.headers.find((_header, index) => {
    const cells = cellsAt(table, index)
    return cells.length > table.rows.length / 2 && share(cells, (cell) => likeEmail.test(cell.trim())) > 0.9
  })
}

function share(cells: readonly string[], test: (cell: string) => boolean): number {
  return cells.filter(test).length / Math.max(1, cells.length)
}

type Texts = ReadonlyMap<string, { readonly column: string; readonly texts: readonly string[] }>

/** What the mapped fields and the status of each row hold, as far as the mapping can be bound to the header. */
function textsOf(table: Table, preset: Preset, patch: MappingPatch): Texts {
  const parsed = Mapping.safeParse(mergePreset(preset.mapping, patch))
  const compiled = parsed.success ? compileMapping(parsed.data, table.headers) : null
  if (!compiled?.ok) return new Map()
  const texts = new Map<string, { column: string; texts: string[] }>(
    Object.entries(compiled.columns).flatMap(([field, column]) =>
      column === undefined ? [] : [[field, { column, texts: [] }]],
    ),
  )
  for (const values of table.rows)
    for (const { name, text = '' } of compiled.cellsOf({ values })) texts.get(name)?.texts.push(text)
  return texts
}

type Dated = {
  readonly patch: MappingPatch
  readonly dates: Proposal['dates']
  readonly questions: readonly Question[]
  readonly notes: readonly string[]
}

/** Adds how dates are written, where the dates decide it, another column of the export does, or a person has. */
function withDates(
  table: Table,
  preset: Preset,
  { patch, answers }: { readonly patch: MappingPatch; readonly answers: Answers },
): Dated {
  const texts = textsOf(table, preset, patch)
  const merged = mergePreset(preset.mapping, patch).fields
  const columns = dateFields.flatMap((field) => {
    const found = texts.get(field)
    return found === undefined ? [] : [{ field, ...found, usual: formOf(merged[field]) }]
  })
  const evidence = columns.map((one) => ({ ...one, found: dateEvidence(one.texts, one.usual) }))
  const certain = evidence.flatMap(({ found, column }) => (found.kind === 'one' ? [{ form: found.form, column }] : []))
  const fields: Record<string, unknown> = { ...patch.fields }
  const dates: Proposal['dates'][number][] = []
  const notes: string[] = []
  const open: { column: string; choices: string[] }[] = []
  for (const { field, column, found, usual } of evidence) {
    const decided = decide()
    if (decided === null) continue
    const { form, why } = decided
    dates.push({ field, column, format: [form.format].flat().join(' or '), why })
    if (String(form.format) !== String(usual.format) || form.language !== usual.language || form.pivot !== usual.pivot)
      fields[field] = { ...asRule(fields[field]), ...form }

    function decide(): { readonly form: DateForm; readonly why: string } | null {
      if (found.kind === 'none') {
        const [other] = certain
        return {
          form: other?.form ?? usual,
          why: other === undefined ? 'the usual way; no row has a date' : `as in "${other.column}"; no row has a date`,
        }
      }
      if (found.kind === 'one') {
        if (found.unread > 0)
          notes.push(
            `${found.unread === 1 ? 'One date' : `${found.unread} dates`} in "${column}" cannot be read so; "rollcall check" says where.`,
          )
        return { form: found.form, why: 'the dates leave no other reading' }
      }
      if (found.kind === 'unknown') {
        notes.push(
          `The dates in "${column}" are written in no way that is known here: say how (--date-format), or write format into the configuration.`,
        )
        return answers.dateFormat === undefined ? null : { form: said(answers.dateFormat), why: 'as you said' }
      }
      if (answers.dateFormat !== undefined) return { form: said(answers.dateFormat), why: 'as you said' }
      const other = certain.find(({ form: one }) => isAmong(one, found.forms))
      if (other !== undefined)
        return { form: other.form, why: `as in "${other.column}", where the dates leave no other reading` }
      open.push({ column, choices: found.forms.map(({ format }) => [format].flat().join(' or ')) })
      return null
    }
  }
  const [first] = open
  const questions =
    first === undefined
      ? []
      : [{ about: 'dateFormat', columns: open.map(({ column }) => column), choices: first.choices } as const]
  return { patch: { ...patch, fields: fields as MappingPatch['fields'] }, dates, questions, notes }
}

function said(format: string): DateForm {
  return { format, ...(/(?<!y)yy(?!y)/.test(format) && { pivot: 2049 }) }
}

function formOf(rule: unknown): DateForm {
  const {
    format = 'yyyy-MM-dd',
    pivot,
    language,
  } = (typeof rule === 'object' && rule !== null ? rule : {}) as Partial<DateForm>
  return { format, ...(pivot !== undefined && { pivot }), ...(language !== undefined && { language }) }
}

function asRule(rule: unknown): Readonly<Record<string, unknown>> {
  if (typeof rule === 'string') return { column: rule }
  return typeof rule === 'object' && rule !== null ? (rule as Readonly<Record<string, unknown>>) : {}
}

type ValueContext = { readonly patch: MappingPatch; readonly words: Thesaurus; readonly answers: Answers }

function seenStatuses(table: Table, preset: Preset, { patch, words, answers }: ValueContext): Proposal['statuses'] {
  const found = textsOf(table, preset, patch).get('status')
  const rule = mergePreset(preset.mapping, patch).status as
    | { leftWhen: readonly string[]; employedWhen?: readonly string[] }
    | undefined
  if (found === undefined || rule === undefined) return null
  const left = new Set(rule.leftWhen.map(foldValue))
  const employed = new Set((rule.employedWhen ?? []).map(foldValue))
  const meaning = ({ value }: SeenValue) => {
    const folded = foldValue(value)
    return (
      answers.statuses?.[value] ??
      (left.has(folded) ? 'left' : employed.has(folded) ? 'employed' : (words.statuses.get(folded) ?? 'open'))
    )
  }
  const groups = Object.groupBy(countValues(found.texts), meaning)
  return { column: found.column, left: groups.left ?? [], employed: groups.employed ?? [], open: groups.open ?? [] }
}

function seenContractors(
  table: Table,
  preset: Preset,
  { patch, words, answers }: ValueContext,
): Proposal['contractors'] {
  const found = textsOf(table, preset, patch).get('isContractor')
  const rule = mergePreset(preset.mapping, patch).fields.isContractor
  if (found === undefined) return null
  const { map } = asRule(rule) as { map?: Readonly<Record<string, boolean | null>> }
  const plain = map ?? { yes: true, no: false, true: true, false: false, 1: true, 0: false }
  const known = new Map(Object.entries(plain).map(([value, means]) => [foldValue(value), means]))
  const meaning = ({ value }: SeenValue) => {
    const said = answers.contractors?.[value]
    const means =
      said !== undefined ? said : (known.get(foldValue(value)) ?? words.contractors.get(foldValue(value)) ?? null)
    return means === null ? 'open' : means ? 'contractor' : 'employee'
  }
  const groups = Object.groupBy(countValues(found.texts), meaning)
  return {
    column: found.column,
    contractor: groups.contractor ?? [],
    employee: groups.employee ?? [],
    open: groups.open ?? [],
  }
}

/** The values of a column with the number of their rows, the most frequent first. */
function countValues(texts: readonly string[]): SeenValue[] {
  const filled = texts.map((text) => text.trim()).filter((text) => text !== '')
  const counts = [...Map.groupBy(filled, foldValue).values()].map((same) => ({
    value: same[0] ?? '',
    rows: same.length,
  }))
  return counts.toSorted((a, b) => b.rows - a.rows || (a.value < b.value ? -1 : 1)).slice(0, valuesKept)
}

/** Adds what values mean that the preset does not list. A list of the configuration takes the place of the preset's. */
function withValues(
  preset: Preset,
  patch: MappingPatch,
  { statuses, contractors }: Pick<Proposal, 'statuses' | 'contractors'>,
): MappingPatch {
  const merged = mergePreset(preset.mapping, patch)
  const rule = merged.status as StatusPatch | undefined
  const status =
    statuses === null || rule === undefined
      ? undefined
      : {
          ...rule,
          leftWhen: joined(rule.leftWhen, statuses.left, statuses.employed),
          employedWhen: joined(rule.employedWhen ?? [], statuses.employed, statuses.left),
        }
  const contractorRule = asRule(merged.fields.isContractor) as { map?: Record<string, boolean | null> }
  const added =
    contractors === null
      ? []
      : [
          ...contractors.contractor.map(({ value }) => [value, true] as const),
          ...contractors.employee.map(({ value }) => [value, false] as const),
        ]
  const listed = new Map(Object.entries(contractorRule.map ?? {}).map(([value, means]) => [foldValue(value), means]))
  const isKnown =
    contractorRule.map === undefined
      ? isYesOrNo(added)
      : added.every(([value, means]) => listed.get(foldValue(value)) === means)
  return {
    ...patch,
    fields: {
      ...patch.fields,
      ...(!isKnown && {
        isContractor: {
          ...asRule(patch.fields?.isContractor),
          map: { ...contractorRule.map, ...Object.fromEntries(added) },
        },
      }),
    },
    ...(status !== undefined && { status }),
  }
}

function isYesOrNo(values: readonly (readonly [string, boolean])[]): boolean {
  return values.every(([value]) => /^(?:yes|no|true|false|1|0)$/.test(foldValue(value)))
}

/** A list with the values that were seen and mean the same, and without those that mean the opposite. */
function joined(listed: readonly string[], same: readonly SeenValue[], opposite: readonly SeenValue[]): string[] {
  const against = new Set(opposite.map(({ value }) => foldValue(value)))
  const all = [...same.map(({ value }) => value), ...listed].filter((value) => !against.has(foldValue(value)))
  return [...new Map(all.toReversed().map((value) => [foldValue(value), value])).values()].toReversed()
}

function proposedFields(
  texts: Texts,
  { table, why }: { readonly table: Table; readonly why: ReadonlyMap<string, string> },
): ProposedField[] {
  return mappedFields.flatMap((field) => {
    const found = texts.get(field)
    if (found === undefined) return []
    const filled = [...new Set(found.texts.map((text) => text.trim()).filter((text) => text !== ''))]
    return [
      {
        field,
        column: found.column,
        examples: filled.slice(0, examplesShown),
        why: table.rows.length === 0 ? null : (why.get(field) ?? null),
      },
    ]
  })
}

function leftBehind(table: Table, preset: Preset, mapping: MappingPatch): string[] {
  const read = new Set([...textsOf(table, preset, mapping).values()].flatMap(({ column }) => column.split(', ')))
  return table.headers.filter((header) => header.trim() !== '' && !read.has(header))
}

function zoneIn(table: Table): Proposal['timeZone'] {
  for (const [index, header] of table.headers.entries()) {
    const cells = cellsAt(table, index)
    if (cells.length === 0 || !cells.every((cell) => cell.includes('/') && isTimeZone(cell.trim()))) continue
    const [most] = countValues(cells)
    if (most !== undefined) return { name: most.value, column: header }
  }
  return null
}

/** The names that several columns have. */
function doubledNames({ headers }: Table): ReadonlySet<string> {
  const names = headers.map(normaliseHeader)
  return new Set(names.filter((name, index) => name !== '' && names.indexOf(name) !== index))
}

function doubledHeaders({ headers }: Table): string[] {
  const same = Map.groupBy(headers.entries(), ([, header]) => normaliseHeader(header))
  return [...same].flatMap(([name, places]) => {
    if (name === '' || places.length === 1) return []
    const columns = places.map(([index]) => index + 1)
    return [
      `The columns ${columns.join(' and ')} are both called "${places[0]?.[1]}", so neither can be read. Rename or drop one in the export.`,
    ]
  })
}

function absentFields(fields: readonly ProposedField[], statuses: Proposal['statuses']): string[] {
  const has = (field: MappedField) => fields.some((one) => one.field === field)
  return [
    ...(has('email') ? [] : ['No column holds e-mail addresses. The platform matches people by them.']),
    ...(has('separatedAt') || statuses !== null
      ? []
      : [
          'No column says who has left. People leave only by being missing from the export, and the day of the export counts as their last.',
        ]),
  ]
}
