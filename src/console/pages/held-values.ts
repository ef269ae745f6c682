import { type ClassifiedValue, type Run, ValueMeaning } from '../../contract/control/shapes.ts'
import { Failure } from '../../errors.ts'
import { address } from '../../web/address.ts'
import { actionLink, choiceField, textField } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { card } from '../../web/layout.ts'
import { type Column, table } from '../../web/tables.ts'
import { formatInstant } from '../../web/words.ts'
import type { Action, PageContext, Site } from '../site/site.ts'
import { runHref } from '../site/words.ts'
import { answerNote, decisionHref, isAnsweredSince } from './held-links.ts'
import { heldRun } from './run.ts'

type Meaning = {
  readonly as: ClassifiedValue['as']
  readonly field: ClassifiedValue['field']
  readonly name: string
}

const meanings: readonly Meaning[] = [
  { as: 'employed', field: 'status', name: 'is employed' },
  { as: 'left', field: 'status', name: 'has left' },
  { as: 'contractor', field: 'isContractor', name: 'is a contractor' },
  { as: 'employee', field: 'isContractor', name: 'is an employee' },
]

/** The end of a sentence that begins with a person: `has left`. */
function meaningName(as: Meaning['as']): string {
  return meanings.find((one) => one.as === as)?.name ?? as
}

/** Adds the action that gives a value of a status or contractor column its meaning. */
export function valueActions(site: Site): void {
  site.action('/runs/:runId/values', classifyValue)
}

const classifyValue: Action = {
  section: 'runs',
  operation: 'classifyValue',
  ask: async (context, fields) => {
    const run = await heldRun(context, fields)
    const [value, field] = [fields('value'), fields('field')]
    const options = meanings.filter((one) => field === '' || one.field === field)
    return {
      title: `What does ${value === '' ? 'a value' : `“${value}”`} mean?`,
      explanation: html`<p>The answer applies to everybody with this value, in this plan and in every later one. Upper and lower case and surrounding spaces do not matter.</p>${answerNote}`,
      fields: html`${value === '' && textField({ name: 'value', label: 'Value', required: true, maxLength: 191 })}${choiceField(
        {
          name: 'as',
          label: 'A person with this value',
          options: options.map(({ as, name }) => ({ value: as, name })),
          value: fields('as'),
          required: true,
        },
      )}`,
      hidden: value === '' ? undefined : { value, field },
      button: 'Save the answer',
      cancel: decisionHref(run),
    }
  },
  perform: async (context, fields) => {
    const run = await heldRun(context, fields)
    const as = ValueMeaning.safeParse(fields('as')).data
    if (as === undefined) throw new Failure('usage', 'choose what the value means')
    const params = { connection: run.connection }
    const classified = await context.control.classifyValue({ params, body: { value: fields('value'), as } })
    return {
      to: decisionHref(run),
      done: `From now on, a person with “${classified.value}” ${meaningName(classified.as)}. After an approval, Rollcall plans again.`,
    }
  },
}

type UnlistedValue = { readonly field: ClassifiedValue['field']; readonly value: string }

/** The values that need a meaning, and the meanings given since the plan was made. */
export async function valuesCard(run: Run, context: PageContext, unlisted: readonly UnlistedValue[]): Promise<Html> {
  const { data } = await context.control.listValues({ params: { connection: run.connection } })
  const recent = data.filter(({ at }) => isAnsweredSince(at, run))
  const open = unlisted.filter(
    ({ field, value }) => !recent.some((one) => one.field === field && isSame(one.value, value)),
  )
  return card({
    title: 'Values without a meaning',
    id: 'values',
    aside: actionLink({
      href: valuesHref(run),
      name: 'Another value …',
      notAllowed: context.notAllowed('classifyValue'),
    }),
    content: html`<p>Say what each value means. Without an answer, an approval ignores the value.</p>
${table({ caption: 'Values that wait for a meaning', columns: openColumns(run, context), rows: open, empty: 'Every value of this plan has a meaning now.' })}
${recent.length > 0 && html`<div class="group"><h3>Answers since the plan was made</h3>${table({ caption: 'Meanings since the plan was made', columns: answerColumns(run, context), rows: recent, empty: null })}</div>`}`,
  })
}

function openColumns(run: Run, { notAllowed }: PageContext): readonly Column<UnlistedValue>[] {
  return [
    { name: 'Value', kind: 'row', cell: ({ value }) => html`“${value}”` },
    { name: 'Field', cell: ({ field }) => (field === 'status' ? 'Status' : 'Contractor') },
    {
      name: 'Answer',
      kind: 'action',
      cell: (one) =>
        actionLink({
          href: valuesHref(run, one),
          name: 'Say what it means …',
          label: `Say what “${one.value}” means`,
          notAllowed: notAllowed('classifyValue'),
        }),
    },
  ]
}

function answerColumns(run: Run, { notAllowed }: PageContext): readonly Column<ClassifiedValue>[] {
  return [
    { name: 'Value', kind: 'row', cell: ({ value }) => html`“${value}”` },
    { name: 'A person with this value', cell: ({ as }) => meaningName(as) },
    { name: 'By', cell: ({ by, at }) => html`${by}<span class="hint">${formatInstant(at)}</span>` },
    {
      name: 'Change',
      kind: 'action',
      cell: ({ field, value }) =>
        actionLink({
          href: valuesHref(run, { field, value }),
          name: 'Change …',
          label: `Change the meaning of “${value}”`,
          notAllowed: notAllowed('classifyValue'),
        }),
    },
  ]
}

function valuesHref({ id }: Run, value: Partial<UnlistedValue> = {}): string {
  return address(`${runHref(id)}/values`, value)
}

/** Whether a value of the export is the stored one, which is in lower case and trimmed. */
function isSame(stored: string, value: string): boolean {
  return stored === value.trim().normalize('NFC').toLowerCase()
}
