import type { KeyAnswer, KeyPair, AnsweredKeys } from '../../contract/control/keys.ts'
import { type ClassifiedValue, type Run, ValueMeaning } from '../../contract/control/shapes.ts'
import { Failure } from '../../errors.ts'
import { address } from '../../web/address.ts'
import { actionLink, choiceField, type Option, textField } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { card } from '../../web/layout.ts'
import { type Column, table } from '../../web/tables.ts'
import { pluralize, formatInstant } from '../../web/words.ts'
import type { Fields, PageContext, Site } from '../site/site.ts'
import { personLink, runHref } from '../site/words.ts'
import { heldRun } from './run.ts'

/** So many pairs are shown one by one; an answer to all of them reaches the others. */
const pairsShown = 200

const onePerson = 'one'
const twoPeople = 'two'
const answerOptions: readonly Option[] = [
  {
    value: onePerson,
    name: 'One person: the platform goes on having them under the former key, and no one is separated or added',
  },
  { value: twoPeople, name: 'Two people: the one has left and the other has joined, as the plan says' },
]

const meanings: readonly {
  readonly as: ClassifiedValue['as']
  readonly field: ClassifiedValue['field']
  readonly name: string
}[] = [
  { as: 'employed', field: 'status', name: 'Employed' },
  { as: 'left', field: 'status', name: 'Has left' },
  { as: 'contractor', field: 'isContractor', name: 'Is a contractor' },
  { as: 'employee', field: 'isContractor', name: 'Is an employee' },
]

/** What a person can say about a held plan besides yes and no: what keys name that changed, and what values mean that no list holds. */
export function heldAnswerPages(site: Site): void {
  site.action('/runs/:runId/keys', {
    section: 'runs',
    operation: 'answerPairs',
    ask: async (context, fields) => {
      const run = await heldRun(context, fields)
      const pairs = await pairsOf(run, context)
      const unclear = pairs.filter(({ clear }) => !clear).length
      return {
        title: `Answer for all ${pluralize(pairs.length, 'pair')} of keys?`,
        explanation: html`${unclear > 0 && html`<p>${pluralize(unclear, 'pair is', 'pairs are')} not clear. “One person” leaves them out: answer each by itself.</p>`}${plannedAgain}`,
        fields: answerField(fields),
        button: 'Keep the answer for all pairs',
        cancel: decisionHref(run),
      }
    },
    perform: async (context, fields) => {
      const run = await heldRun(context, fields)
      const said = await context.control.answerPairs({ params: { runId: run.id }, body: { same: sameBy(fields) } })
      const left =
        said.unclear > 0
          ? ` ${pluralize(said.unclear, 'pair is', 'pairs are')} left, because ${said.unclear === 1 ? 'it is' : 'they are'} not clear.`
          : ''
      return {
        to: decisionHref(run),
        done: `${pluralize(said.answered, 'pair is', 'pairs are')} answered.${left}${again(said)}`,
      }
    },
  })

  site.action('/runs/:runId/keys/answer', {
    section: 'runs',
    operation: 'answerKeys',
    ask: async (context, fields) => {
      const run = await heldRun(context, fields)
      const { former, identityId } = keysBy(fields)
      const pair = (await pairsOf(run, context)).find((one) => one.former === former && one.identityId === identityId)
      const isNamed = former !== '' && identityId !== ''
      return {
        title: isNamed ? `Do ${former} and ${identityId} name one person?` : 'Do two keys name one person?',
        explanation: html`${pair && html`<p>${personLink({ connection: run.connection, identityId: former })} is missing from the source, and ${identityId} is new in it. Both have in common ${inCommon[pair.by]}.${!pair.clear && ' The pair is not clear: one of the two is in another pair too, or several people look alike.'}</p>`}
${plannedAgain}`,
        fields: html`${
          !isNamed &&
          html`${keyField({ name: 'former', label: 'The former key', value: former })}${keyField({ name: 'key', label: 'The new key', value: identityId })}`
        }${answerField(fields)}`,
        ...(isNamed && { hidden: { former, key: identityId } }),
        button: 'Keep the answer',
        cancel: decisionHref(run),
      }
    },
    perform: async (context, fields) => {
      const run = await heldRun(context, fields)
      const keys = keysBy(fields)
      const same = sameBy(fields)
      const said = await context.control.answerKeys({
        params: { connection: run.connection },
        body: { ...keys, same },
      })
      const answer = same
        ? `${keys.identityId} names the person ${keys.former} from now on.`
        : `${keys.former} and ${keys.identityId} are two people.`
      return { to: decisionHref(run), done: `${answer}${again(said)}` }
    },
  })

  site.action('/runs/:runId/keys/withdrawal', {
    section: 'runs',
    operation: 'withdrawKeys',
    ask: async (context, fields) => {
      const run = await heldRun(context, fields)
      const { former, identityId } = keysBy(fields)
      return {
        title: `Take back what was said of ${former} and ${identityId}?`,
        explanation: html`<p>The next plan asks again what the two keys name, if it finds them.</p>${plannedAgain}`,
        hidden: { former, key: identityId },
        button: 'Take the answer back',
        cancel: decisionHref(run),
      }
    },
    perform: async (context, fields) => {
      const run = await heldRun(context, fields)
      const keys = keysBy(fields)
      const said = await context.control.withdrawKeys({ params: { connection: run.connection }, body: keys })
      return {
        to: decisionHref(run),
        done: `Nothing is said of ${keys.former} and ${keys.identityId} any more.${again(said)}`,
      }
    },
  })

  site.action('/runs/:runId/values', {
    section: 'runs',
    operation: 'classValue',
    ask: async (context, fields) => {
      const run = await heldRun(context, fields)
      const [value, field] = [fields('value'), fields('field')]
      const named = value === '' ? 'a value' : `“${value}”`
      return {
        title: `What does ${named} mean?`,
        explanation: html`<p>The answer counts for everybody who has the value, in this plan and in every later one. Case and blanks around the value do not matter.</p>${plannedAgain}`,
        fields: html`${value === '' && textField({ name: 'value', label: 'Value', required: true, maxLength: 191 })}${choiceField(
          {
            name: 'as',
            label: 'A person with it',
            options: meanings
              .filter((one) => field === '' || one.field === field)
              .map(({ as, name }) => ({ value: as, name })),
            value: fields('as'),
            required: true,
          },
        )}`,
        ...(value !== '' && { hidden: { value, field } }),
        button: 'Keep the answer',
        cancel: decisionHref(run),
      }
    },
    perform: async (context, fields) => {
      const run = await heldRun(context, fields)
      const as = ValueMeaning.safeParse(fields('as')).data
      if (as === undefined) throw new Failure('usage', 'choose what the value means')
      const classed = await context.control.classValue({
        params: { connection: run.connection },
        body: { value: fields('value'), as },
      })
      const done = `“${classed.value}” means ${classed.as} from now on. An approval makes the held plan again.`
      return { to: decisionHref(run), done }
    },
  })
}

const plannedAgain = html`<p>The answer sends nothing. It is kept for later runs too, and the held plan is made again once it is approved.</p>`

/** What waits for such an answer in a held plan, and what was answered since it was made; null: nothing. */
export async function answersPart(run: Run, context: PageContext): Promise<Html | null> {
  const failed = (run.guards ?? []).filter(({ ok }) => !ok)
  const [rekeyed, unlisted] = ['rekeyed', 'unlistedValues'].map((name) => failed.find((one) => one.name === name))
  // Where the address changed with the key, no pair is found.
  const mayBePairs = rekeyed !== undefined || ((run.counts?.join ?? 0) > 0 && (run.counts?.leave ?? 0) > 0)
  return html`${mayBePairs && (await keysCard(run, context))}${unlisted && (await valuesCard(run, context, unlisted.unlisted ?? []))}`
}

async function keysCard(run: Run, context: PageContext): Promise<Html> {
  const { connection } = run
  const pairs = await pairsOf(run, context)
  const { answers } = await context.control.listKeys({ params: { connection }, query: {} })
  const given = answers.filter(({ at }) => isSince(at, run))
  const to = (act: string, { former, identityId }: Pick<KeyPair, 'former' | 'identityId'>) =>
    address(`${runHref(run.id)}/keys/${act}`, { former, key: identityId })
  const columns: readonly Column<KeyPair>[] = [
    { name: 'Former key', kind: 'row', cell: ({ former }) => personLink({ connection, identityId: former }) },
    { name: 'New key', cell: ({ identityId }) => html`<span class="key">${identityId}</span>` },
    {
      name: 'In common',
      kind: 'long',
      cell: ({ by, clear }) =>
        html`${inCommon[by]}${!clear && html` <span class="hint">not clear: could be several people</span>`}`,
    },
    {
      name: 'Answer',
      kind: 'action',
      cell: (pair) =>
        actionLink({
          href: to('answer', pair),
          name: 'Answer …',
          label: `Answer for ${pair.former} and ${pair.identityId}`,
          notAllowed: context.notAllowed('answerKeys'),
        }),
    },
  ]
  const givenColumns: readonly Column<KeyAnswer>[] = [
    {
      name: 'Keys',
      kind: 'row',
      cell: ({ former, identityId }) =>
        html`<span class="key">${former}</span> → <span class="key">${identityId}</span>`,
    },
    { name: 'Answer', cell: ({ same }) => (same ? 'one person' : 'two people') },
    { name: 'By', cell: ({ by, at }) => html`${by}<span class="hint">${formatInstant(at)}</span>` },
    {
      name: 'Take back',
      kind: 'action',
      cell: (answer) =>
        actionLink({
          href: to('withdrawal', answer),
          name: 'Take back …',
          label: `Take back the answer for ${answer.former} and ${answer.identityId}`,
          notAllowed: context.notAllowed('withdrawKeys'),
        }),
    },
  ]
  return card({
    title: 'Keys that HR issues again',
    id: 'keys',
    aside: html`<div class="row">${
      pairs.length > 1 &&
      actionLink({
        href: `${runHref(run.id)}/keys`,
        name: 'Answer for all …',
        notAllowed: context.notAllowed('answerPairs'),
      })
    }${actionLink({
      href: `${runHref(run.id)}/keys/answer`,
      name: 'Another pair …',
      notAllowed: context.notAllowed('answerKeys'),
    })}</div>`,
    content: html`<p>Say whether the two keys of a pair name one person. Without an answer, an approval separates the one and adds the other.</p>
${table({ caption: 'Pairs of keys that wait for an answer', columns, rows: pairs.slice(0, pairsShown), empty: given.length > 0 ? 'Every pair is answered.' : 'No two keys look like one person.' })}
${pairs.length > pairsShown && html`<p class="hint">and ${pluralize(pairs.length - pairsShown, 'more pair')}</p>`}
${given.length > 0 && html`<div class="group"><h3>Answered since</h3>${table({ caption: 'Answers since the plan was made', columns: givenColumns, rows: given, empty: null })}</div>`}`,
  })
}

type Unlisted = { readonly field: ClassifiedValue['field']; readonly value: string }

async function valuesCard(run: Run, context: PageContext, unlisted: readonly Unlisted[]): Promise<Html> {
  const { data } = await context.control.listValues({ params: { connection: run.connection } })
  const said = data.filter(({ at }) => isSince(at, run))
  const open = unlisted.filter(
    ({ field, value }) => !said.some((one) => one.field === field && isSame(one.value, value)),
  )
  const href = (asked: Partial<Unlisted>) => address(`${runHref(run.id)}/values`, asked)
  const columns: readonly Column<Unlisted>[] = [
    { name: 'Value', kind: 'row', cell: ({ value }) => html`“${value}”` },
    { name: 'Field', cell: ({ field }) => (field === 'status' ? 'Status' : 'Contractor') },
    {
      name: 'Answer',
      kind: 'action',
      cell: (one) =>
        actionLink({
          href: href(one),
          name: 'Say what it means …',
          label: `Say what “${one.value}” means`,
          notAllowed: context.notAllowed('classValue'),
        }),
    },
  ]
  const saidColumns: readonly Column<ClassifiedValue>[] = [
    { name: 'Value', kind: 'row', cell: ({ value }) => html`“${value}”` },
    { name: 'Means', cell: ({ as }) => as },
    { name: 'By', cell: ({ by, at }) => html`${by}<span class="hint">${formatInstant(at)}</span>` },
    {
      name: 'Change',
      kind: 'action',
      cell: ({ field, value }) =>
        actionLink({
          href: href({ field, value }),
          name: 'Say it otherwise …',
          label: `Say otherwise what “${value}” means`,
          notAllowed: context.notAllowed('classValue'),
        }),
    },
  ]
  return card({
    title: 'Values that no list holds',
    id: 'values',
    aside: actionLink({ href: href({}), name: 'Another value …', notAllowed: context.notAllowed('classValue') }),
    content: html`<p>Say what each means. Without an answer, an approval leaves the value without effect.</p>
${table({ caption: 'Values that wait for a meaning', columns, rows: open, empty: 'Every value that is named here has a meaning by now.' })}
${said.length > 0 && html`<div class="group"><h3>Answered since</h3>${table({ caption: 'Meanings since the plan was made', columns: saidColumns, rows: said, empty: null })}</div>`}`,
  })
}

async function pairsOf({ id, connection }: Run, { control }: PageContext): Promise<readonly KeyPair[]> {
  const { pairs } = await control.listKeys({ params: { connection }, query: {} })
  return pairs.filter(({ runId }) => runId === id)
}

const inCommon = {
  email: 'the e-mail address',
  name: 'the full name and the first day',
  both: 'the e-mail address, the full name and the first day',
} as const satisfies Record<KeyPair['by'], string>

function keyField(field: { readonly name: string; readonly label: string; readonly value: string }): Html {
  return textField({ ...field, required: true, maxLength: 191 })
}

function answerField(fields: Fields): Html {
  return choiceField({
    name: 'answer',
    label: 'The two keys name',
    options: answerOptions,
    value: fields('answer'),
    required: true,
  })
}

function sameBy(fields: Fields): boolean {
  const answer = fields('answer')
  if (answer !== onePerson && answer !== twoPeople) throw new Failure('usage', 'choose one person or two people')
  return answer === onePerson
}

function keysBy(fields: Fields): { readonly former: string; readonly identityId: string } {
  return { former: fields('former'), identityId: fields('key') }
}

function decisionHref({ id }: Run): string {
  return `${runHref(id)}/decision`
}

function again({ moved }: AnsweredKeys): string {
  return moved === 0 ? ' The next run reads rows so.' : ' An approval makes the held plan again.'
}

function isSince(at: string, run: Run): boolean {
  return at >= (run.startedAt ?? run.createdAt)
}

function isSame(folded: string, value: string): boolean {
  return folded === value.trim().normalize('NFC').toLowerCase()
}
