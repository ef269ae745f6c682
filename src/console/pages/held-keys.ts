import type { AnsweredKeys, KeyAnswer, KeyPair } from '../../contract/control/keys.ts'
import type { Run } from '../../contract/control/shapes.ts'
import { Failure } from '../../errors.ts'
import { address } from '../../web/address.ts'
import { actionLink, choiceField, type Option, textField } from '../../web/forms.ts'
import { type Html, html, type Renderable } from '../../web/html.ts'
import { card } from '../../web/layout.ts'
import { type Column, table } from '../../web/tables.ts'
import { formatInstant, pluralize } from '../../web/words.ts'
import type { Action, Fields, PageContext, Site } from '../site/site.ts'
import { personLink, runHref } from '../site/words.ts'
import { answerNote, decisionHref, isAnsweredSince } from './held-links.ts'
import { heldRun } from './run.ts'

/** Maximum number of pairs in the table. "Answer for all" reaches the others too. */
const maxPairs = 200

const onePerson = 'one'
const twoPeople = 'two'
const answerOptions: readonly Option[] = [
  {
    value: onePerson,
    name: 'One person: the platform keeps the old key, and nobody is separated or added',
  },
  { value: twoPeople, name: 'Two people: one has left and the other has joined, as the plan says' },
]

const commonFields = {
  email: 'the e-mail address',
  name: 'the full name and the first day',
  both: 'the e-mail address, the full name and the first day',
} as const satisfies Record<KeyPair['by'], string>

/** Adds the actions about keys that may have changed: answer for one pair, for all pairs, and withdraw an answer. */
export function keyActions(site: Site): void {
  site.action('/runs/:runId/keys', answerAllPairs)
  site.action('/runs/:runId/keys/answer', answerPair)
  site.action('/runs/:runId/keys/withdrawal', withdrawAnswer)
}

const answerAllPairs: Action = {
  section: 'runs',
  operation: 'answerPairs',
  ask: async (context, fields) => {
    const run = await heldRun(context, fields)
    const pairs = await pairsOf(run, context)
    const unclear = pairs.filter(({ clear }) => !clear).length
    return {
      title: `Answer for all ${pluralize(pairs.length, 'pair')} of keys?`,
      explanation: html`${unclear > 0 && html`<p>${pluralize(unclear, 'pair is', 'pairs are')} ambiguous. “One person” skips them: answer each one separately.</p>`}${answerNote}`,
      fields: answerField(fields),
      button: 'Save the answer for all pairs',
      cancel: decisionHref(run),
    }
  },
  perform: async (context, fields) => {
    const run = await heldRun(context, fields)
    const result = await context.control.answerPairs({ params: { runId: run.id }, body: { same: isOnePerson(fields) } })
    const unclear =
      result.unclear > 0
        ? ` ${pluralize(result.unclear, 'pair is', 'pairs are')} ambiguous and still ${result.unclear === 1 ? 'needs' : 'need'} an answer.`
        : ''
    return {
      to: decisionHref(run),
      done: `${pluralize(result.answered, 'pair is', 'pairs are')} answered.${unclear}${effectOf(result)}`,
    }
  },
}

const answerPair: Action = {
  section: 'runs',
  operation: 'answerKeys',
  ask: async (context, fields) => {
    const run = await heldRun(context, fields)
    const { former, identityId } = keysIn(fields)
    const pair = (await pairsOf(run, context)).find((one) => one.former === former && one.identityId === identityId)
    const isNamed = former !== '' && identityId !== ''
    return {
      title: isNamed ? `Are ${former} and ${identityId} one person?` : 'Are two keys one person?',
      explanation: html`${pair && pairText(run, pair)}
${answerNote}`,
      fields: html`${
        !isNamed && html`${keyField('former', 'The old key', former)}${keyField('key', 'The new key', identityId)}`
      }${answerField(fields)}`,
      hidden: isNamed ? { former, key: identityId } : undefined,
      button: 'Save the answer',
      cancel: decisionHref(run),
    }
  },
  perform: async (context, fields) => {
    const run = await heldRun(context, fields)
    const keys = keysIn(fields)
    const same = isOnePerson(fields)
    const params = { connection: run.connection }
    const result = await context.control.answerKeys({ params, body: { ...keys, same } })
    const answer = same
      ? `${keys.identityId} is now the key of the person ${keys.former}.`
      : `${keys.former} and ${keys.identityId} are two people.`
    return { to: decisionHref(run), done: `${answer}${effectOf(result)}` }
  },
}

const withdrawAnswer: Action = {
  section: 'runs',
  operation: 'withdrawKeys',
  ask: async (context, fields) => {
    const run = await heldRun(context, fields)
    const { former, identityId } = keysIn(fields)
    return {
      title: `Withdraw the answer about ${former} and ${identityId}?`,
      explanation: html`<p>The next plan asks about the two keys again, if it finds them.</p>${answerNote}`,
      hidden: { former, key: identityId },
      button: 'Withdraw the answer',
      cancel: decisionHref(run),
    }
  },
  perform: async (context, fields) => {
    const run = await heldRun(context, fields)
    const keys = keysIn(fields)
    const result = await context.control.withdrawKeys({ params: { connection: run.connection }, body: keys })
    return {
      to: decisionHref(run),
      done: `There is no longer an answer about ${keys.former} and ${keys.identityId}.${effectOf(result)}`,
    }
  },
}

function pairText({ connection }: Run, { former, identityId, by, clear }: KeyPair): Html {
  return html`<p>${personLink({ connection, identityId: former })} is missing from the source, and ${identityId} is new in it. Both have ${commonFields[by]} in common.${!clear && ' The pair is ambiguous: one of the two keys is in another pair too, or several people look alike.'}</p>`
}

/** The pairs of keys that wait for an answer, and the answers since the plan was made. */
export async function keysCard(run: Run, context: PageContext): Promise<Html> {
  const pairs = await pairsOf(run, context)
  const { answers } = await context.control.listKeys({ params: { connection: run.connection }, query: {} })
  const recent = answers.filter(({ at }) => isAnsweredSince(at, run))
  return card({
    title: 'Keys that HR may have changed',
    id: 'keys',
    aside: keyButtons(run, pairs.length, context),
    content: html`<p>Say for each pair whether the two keys are one person. Without an answer, an approval separates the person with the old key and adds one with the new key.</p>
${table({
  caption: 'Pairs of keys that wait for an answer',
  columns: pairColumns(run, context),
  rows: pairs.slice(0, maxPairs),
  empty: recent.length > 0 ? 'Every pair is answered.' : 'No two keys look like one person.',
})}
${pairs.length > maxPairs && html`<p class="hint">and ${pluralize(pairs.length - maxPairs, 'more pair')}</p>`}
${recent.length > 0 && html`<div class="group"><h3>Answers since the plan was made</h3>${table({ caption: 'Answers since the plan was made', columns: answerColumns(run, context), rows: recent, empty: null })}</div>`}`,
  })
}

function keyButtons(run: Run, pairs: number, { notAllowed }: PageContext): Html {
  const all = actionLink({
    href: `${runHref(run.id)}/keys`,
    name: 'Answer for all …',
    notAllowed: notAllowed('answerPairs'),
  })
  const another = actionLink({
    href: `${runHref(run.id)}/keys/answer`,
    name: 'Another pair …',
    notAllowed: notAllowed('answerKeys'),
  })
  return html`<div class="row">${pairs > 1 && all}${another}</div>`
}

function pairColumns({ id, connection }: Run, { notAllowed }: PageContext): readonly Column<KeyPair>[] {
  return [
    { name: 'Old key', kind: 'row', cell: ({ former }) => personLink({ connection, identityId: former }) },
    { name: 'New key', cell: ({ identityId }) => html`<span class="key">${identityId}</span>` },
    {
      name: 'In common',
      kind: 'long',
      cell: ({ by, clear }) =>
        html`${commonFields[by]}${!clear && html` <span class="hint">ambiguous: could be several people</span>`}`,
    },
    {
      name: 'Answer',
      kind: 'action',
      cell: ({ former, identityId }) =>
        actionLink({
          href: address(`${runHref(id)}/keys/answer`, { former, key: identityId }),
          name: 'Answer …',
          label: `Answer for ${former} and ${identityId}`,
          notAllowed: notAllowed('answerKeys'),
        }),
    },
  ]
}

function answerColumns({ id }: Run, { notAllowed }: PageContext): readonly Column<KeyAnswer>[] {
  return [
    {
      name: 'Keys',
      kind: 'row',
      cell: ({ former, identityId }): Renderable =>
        html`<span class="key">${former}</span> → <span class="key">${identityId}</span>`,
    },
    { name: 'Answer', cell: ({ same }) => (same ? 'one person' : 'two people') },
    { name: 'By', cell: ({ by, at }) => html`${by}<span class="hint">${formatInstant(at)}</span>` },
    {
      name: 'Withdraw',
      kind: 'action',
      cell: ({ former, identityId }) =>
        actionLink({
          href: address(`${runHref(id)}/keys/withdrawal`, { former, key: identityId }),
          name: 'Withdraw …',
          label: `Withdraw the answer for ${former} and ${identityId}`,
          notAllowed: notAllowed('withdrawKeys'),
        }),
    },
  ]
}

async function pairsOf({ id, connection }: Run, { control }: PageContext): Promise<readonly KeyPair[]> {
  const { pairs } = await control.listKeys({ params: { connection }, query: {} })
  return pairs.filter(({ runId }) => runId === id)
}

function keyField(name: string, label: string, value: string): Html {
  return textField({ name, label, value, required: true, maxLength: 191 })
}

function answerField(fields: Fields): Html {
  return choiceField({
    name: 'answer',
    label: 'The two keys are',
    options: answerOptions,
    value: fields('answer'),
    required: true,
  })
}

function isOnePerson(fields: Fields): boolean {
  const answer = fields('answer')
  if (answer !== onePerson && answer !== twoPeople) throw new Failure('usage', 'choose one person or two people')
  return answer === onePerson
}

function keysIn(fields: Fields): { readonly former: string; readonly identityId: string } {
  return { former: fields('former'), identityId: fields('key') }
}

function effectOf({ moved }: AnsweredKeys): string {
  return moved === 0 ? ' It applies from the next run on.' : ' After an approval, Rollcall plans again.'
}
