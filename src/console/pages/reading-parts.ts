import { plainName } from '../../text/escape.ts'
import { type Option, optionList } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { table } from '../../web/tables.ts'
import { number } from '../../web/words.ts'
import type { Fields } from '../site/site.ts'
import { fieldName } from '../site/words.ts'
import { columnOption, fieldInput, notSent, valueInput } from './first-visit-answers.ts'

/** A longer value cannot be given a meaning. */
const maxValueLength = 190

type ColumnChoice = {
  readonly field: string
  /** The column now; null: none. */
  readonly column: string | null
  /** How the present source of the field is named. The column by default. */
  readonly present?: string
  /** All columns of the export. */
  readonly columns: readonly string[]
  readonly canBeLeftOut: boolean
  /** Why the present source cannot be read. */
  readonly problem?: string
}

/** A list to choose the column of a field from. The present one is the empty answer. */
export function columnSelect(
  { field, column, present = column ?? 'nothing', columns, canBeLeftOut, problem }: ColumnChoice,
  fields: Fields,
): Html {
  const options: Option[] = [
    { value: '', name: plainName(present) },
    ...(canBeLeftOut ? [{ value: notSent, name: 'nothing' }] : []),
    ...columns.filter((one) => one !== column).map(columnOption),
  ]
  const name = fieldInput(field)
  const shown = fields(name) === '' ? (problem ?? null) : null
  const isWrong = shown !== null && html` aria-invalid="true" aria-describedby="${name}-error"`
  return html`<select name="${name}" aria-label="${`Column of ${fieldName(field)}`}"${isWrong}>${optionList(options, fields(name))}</select>${shown !== null && html`<p class="error" id="${name}-error">${shown}</p>`}`
}

/** The meanings of a status. */
export const statusMeanings: readonly Option[] = [
  { value: 'employed', name: 'employed' },
  { value: 'left', name: 'has left' },
  { value: 'open', name: 'unknown: hold the plan' },
]

type ValuesPartOptions = { readonly meanings: readonly Option[]; readonly caption: string; readonly fields: Fields }

/** A table of the values of a column, with a list to choose the meaning of each from. The present one is the empty answer. */
export function valuesPart(
  kind: 'status' | 'contractor',
  values: readonly { readonly value: string; readonly rows: number; readonly meaning: string }[],
  { meanings, caption, fields }: ValuesPartOptions,
): Html {
  return table({
    caption,
    columns: [
      { name: 'Value', kind: 'row', cell: ({ value }) => value },
      { name: 'Rows', kind: 'figure', cell: ({ rows }) => number(rows) },
      {
        name: 'Means',
        cell: ({ value, meaning }) => {
          if (value.length > maxValueLength) return 'unknown'
          const name = valueInput(kind, value)
          const chosen = fields(name)
          const options = meanings.map((option) =>
            option.value === meaning && chosen === '' ? { ...option, value: '' } : option,
          )
          return html`<select name="${name}" aria-label="${`What ${value} means`}">${optionList(options, chosen)}</select>`
        },
      },
    ],
    rows: values,
    empty: 'No row has a value.',
  })
}
