import { readPresets } from '../../daemon/config/presets.ts'
import { type Answers, type Proposal, type ReadField, readFields } from '../../daemon/proposal/proposal.ts'
import type { FormChoice } from '../../daemon/proposal/table.ts'
import { type Prompts, Stopped } from '../session/prompts.ts'
import { answerTo } from './questions.ts'

/** What a person corrects: how the file is written, or how its columns are read. */
type Change = { readonly form?: FormChoice; readonly answers?: Answers }

const kinds = [
  { value: 'column', label: 'a field comes from another column, or from none' },
  { value: 'status', label: 'a status means something else' },
  { value: 'dates', label: 'dates have another format' },
  { value: 'preset', label: 'another system exported it' },
  { value: 'file', label: 'the file has another form: header line, encoding, delimiter or sheet' },
  { value: 'stop', label: 'stop here and write nothing' },
] as const

const noColumn = '(no column)'

/** Asks what is wrong in a proposal. */
export async function askChange(proposal: Proposal, prompts: Prompts): Promise<Change> {
  const possible = kinds.filter(
    ({ value }) => (value !== 'status' || proposal.statuses !== null) && (value !== 'file' || !proposal.table.isList),
  )
  const kind = await prompts.choose('What is different?', possible)
  switch (kind) {
    case 'column':
      return { answers: await columnAnswer(proposal, prompts) }
    case 'status':
      return { answers: await statusAnswer(proposal, prompts) }
    case 'dates':
      return { answers: { dateFormat: await prompts.text('Which date format?', 'dd/MM/yyyy') } }
    case 'preset': {
      const presets = [...(await readPresets())].map(([name, { title }]) => ({ value: name, label: title }))
      return { answers: { preset: await prompts.choose('Which system exported it?', presets) } }
    }
    case 'file':
      return { form: await formAnswer(proposal, prompts) }
    case 'stop':
      throw new Stopped()
    default:
      return kind satisfies never
  }
}

async function columnAnswer({ fields, table }: Proposal, prompts: Prompts): Promise<Answers> {
  const columnOf = (name: ReadField) => fields.find((one) => one.field === name)?.column ?? noColumn
  const choices = readFields.map((name) => ({ value: name, label: `${name}: ${columnOf(name)}` }))
  const field = await prompts.choose('Which field?', choices)
  const columns = [...new Set(table.headers)].filter((header) => header.trim() !== '')
  const values = [...(field === 'identityId' ? [] : [noColumn]), ...columns]
  const column = await prompts.choose(
    'From which column?',
    values.map((value) => ({ value, label: value })),
  )
  return { fields: { [field]: column === noColumn ? null : column } }
}

async function statusAnswer({ statuses }: Proposal, prompts: Prompts): Promise<Answers> {
  if (statuses === null) return {}
  const { column, left, employed, open } = statuses
  const values = [...left, ...employed, ...open]
  const value = await prompts.choose(
    'Which status?',
    values.map((one) => ({ value: one.value, label: one.value })),
  )
  const rows = values.find((one) => one.value === value)?.rows ?? 0
  return await answerTo({ about: 'status', column, value, rows }, prompts)
}

async function formAnswer({ table }: Proposal, prompts: Prompts): Promise<FormChoice> {
  const { workbook } = table
  if (workbook) {
    const headerLine = await lineAnswer(table, prompts)
    if (workbook.sheet === null) return { headerLine }
    return { sheet: await prompts.text('Which sheet lists the people?', workbook.sheet), headerLine }
  }
  const encoding = await prompts.text('In which encoding? Such as utf-8 or windows-1252', table.encoding)
  const delimiter = await prompts.text('Which delimiter? A character, or the word tab', table.delimiter)
  return { encoding, delimiter, headerLine: await lineAnswer(table, prompts) }
}

async function lineAnswer({ headerLine }: Proposal['table'], prompts: Prompts): Promise<number> {
  const line = Number(await prompts.text('Which line is the header?', String(headerLine)))
  return Number.isInteger(line) && line > 0 ? line : headerLine
}
