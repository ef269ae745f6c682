import { statementNote } from '../../contract/control/person-texts.ts'
import type { Person } from '../../contract/control/shapes.ts'
import { actionLink, checkField, textField } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { seesValues } from '../site/control.ts'
import type { Action, Fields, PageContext } from '../site/site.ts'
import { capital, nameOf, personHref, reasonField } from '../site/words.ts'
import { personId, personParams, readPerson } from './person-form.ts'

/** The buttons about a departure that operators state. `to`: the address of an action. */
export function departureButtons(person: Person, context: PageContext, to: (action: string) => string): Html {
  return html`${
    hasLeft(person, context.now)
      ? null
      : actionLink({
          href: to('state-departure'),
          name: statementNames[statementKind(person)].link,
          ...(isSecondAwaited(person, context.now) && { kind: 'main' as const }),
          notAllowed: context.notAllowed('stateDeparture'),
        })
  }
${
  statementKind(person) === 'second' &&
  canCorrect(person) &&
  actionLink({
    href: `${to('state-departure')}&as=correction`,
    name: statementNames.correction.link,
    notAllowed: context.notAllowed('stateDeparture'),
  })
}
${
  person.statedDeparture &&
  actionLink({
    href: to('withdraw-departure'),
    name: isWithdrawn(person.statedDeparture) ? 'Withdraw it too' : 'Withdraw departure',
    notAllowed: context.notAllowed('withdrawDeparture'),
  })
}`
}

/** Whether a stated departure waits for a second person. */
export function isSecondAwaited(person: Person, now: Date): boolean {
  return !hasLeft(person, now) && statementKind(person) === 'second'
}

/** Whether HR says that the person has left. */
function hasLeft({ statedDeparture: stated, desired }: Person, now: Date): boolean {
  return stated === null && typeof desired?.separatedAt === 'string' && desired.separatedAt <= now.toISOString()
}

/** What an approver does by the form: states a departure, states it as the second person, or states another day of it. */
type StatementKind = 'first' | 'second' | 'correction'

type StatementNames = { readonly link: string; readonly title: string; readonly question: (key: string) => string }

const statementNames: Readonly<Record<StatementKind, StatementNames>> = {
  first: {
    link: 'State departure',
    title: 'State the departure',
    question: (key) => `State the departure of ${key}?`,
  },
  second: {
    link: 'State it too',
    title: 'State the departure too',
    question: (key) => `State the departure of ${key} too?`,
  },
  correction: {
    link: 'Correct the day',
    title: 'Correct the last day',
    question: (key) => `Correct the last day of ${key}?`,
  },
}

function statementKind({ statedDeparture: stated }: Pick<Person, 'statedDeparture'>): StatementKind {
  if (stated === null || stated.isLearned || stated.isExpired) return 'first'
  if (!stated.applies || (stated.isEmergency && stated.approvedBy === null)) return 'second'
  return typeof stated.proposal?.leavingDate === 'string' ? 'second' : 'correction'
}

/** Whether another day can be stated: the departure applies already. */
function canCorrect({ statedDeparture: stated }: Pick<Person, 'statedDeparture'>): boolean {
  return stated?.applies === true
}

function isWithdrawn({ proposal }: Pick<NonNullable<Person['statedDeparture']>, 'proposal'>): boolean {
  return proposal !== null && proposal.leavingDate === null
}

/** States a departure, also as the second person, or another day of it. */
export const stateDeparture: Action = {
  section: 'people',
  operation: 'stateDeparture',
  ask: async (context, fields) => {
    const person = await readPerson(context, fields, { values: seesValues(context.caller) })
    const { connections } = await context.control.status({ query: { connection: person.connection } })
    const { twoPeople = false } = connections[0] ?? {}
    const kind = fields('as') === 'correction' && canCorrect(person) ? 'correction' : statementKind(person)
    return {
      title: statementNames[kind].question(person.identityId),
      explanation: html`${whoIs(person)}${statementSoFar(person)}${statementTexts[kind](person, twoPeople)}`,
      fields: statementFields(person, { kind, twoPeople, fields }),
      button: statementNames[kind].title,
      danger: true,
      hidden: {
        ...personParams(person),
        ...(kind === 'second' && { on: dayOf(person), ...(twoPeople && { approves: '1' }) }),
        ...(kind === 'correction' && { as: 'correction' }),
      },
      cancel: personHref(person),
    }
  },
  perform: async ({ control }, fields) => {
    const params = personId(fields)
    const on = fields('on')
    const approves = fields('approves') === '1'
    const { leavingDate, waits } = await control.stateDeparture({
      params,
      body: {
        ...(on !== '' && { on }),
        ...(approves && { approves }),
        reason: fields('reason'),
        emergency: fields('emergency') === '1',
      },
    })
    const condition = waits ? ' once a second person states it too' : ''
    return { to: personHref(params), done: `${params.identityId} leaves on ${leavingDate}${condition}.` }
  },
}

/** The name of a person, for callers who may see it: a key alone is easily mistaken. */
function whoIs({ desired, confirmed }: Person): Html | null {
  const name = nameOf(desired ?? confirmed)
  return name === null ? null : html`<p><strong>${name}</strong></p>`
}

function statementSoFar({ statedDeparture: stated }: Person): Html | null {
  return stated && html`<p>${capital(statementNote(stated))}.</p>`
}

const statementTexts: Readonly<Record<StatementKind, (person: Person, twoPeople: boolean) => Html>> = {
  first: (_, twoPeople) =>
    html`<p>For a departure that HR has not recorded yet. Rollcall sends it on the last day, without an export. If HR states another leaving date, it replaces your day once HR’s date has come. If HR still states the person as employed after that day, an alert asks you to decide; Rollcall does not bring the person back by itself.</p>
${twoPeople && html`<p>A second person has to state the same day before it is sent.</p>`}`,
  second: (person) => html`<p>Once a second person states ${dayOf(person)} too, that day applies at once.</p>`,
  correction: (_, twoPeople) =>
    html`<p>Rollcall sends the new day. If it is in the future, the person is employed again until then.</p>
${twoPeople && html`<p>A second person has to state the same day. Until then, the current day applies.</p>`}`,
}

type StatementForm = { readonly kind: StatementKind; readonly twoPeople: boolean; readonly fields: Fields }

/** The day that one person proposes, else the stated one; empty if there is none. */
function dayOf({ statedDeparture: stated }: Pick<Person, 'statedDeparture'>): string {
  return stated?.proposal?.leavingDate ?? stated?.leavingDate ?? ''
}

function statementFields(person: Person, { kind, twoPeople, fields }: StatementForm): Html {
  const { statedDeparture: stated } = person
  const lastDay = textField({
    name: 'on',
    label: 'Last day',
    type: 'date',
    value: fields('on') || (kind === 'correction' && stated ? stated.leavingDate : dayOf(person)),
    ...(kind === 'first' && { hint: 'Default: today.' }),
    required: kind === 'correction',
  })
  const emergency = checkField({
    name: 'emergency',
    label: 'Emergency: do not wait for the second person',
    hint: 'An alert goes to every channel until a second person states the departure too.',
    checked: fields('emergency') === '1',
  })
  const canBeAlone = twoPeople && !stated?.applies
  return html`${kind !== 'second' && lastDay}${reasonField(fields)}${canBeAlone && emergency}`
}

/** Under the rule of two people, how many people withdraw a departure that applies. */
function whoWithdraws({ by, isEmergency, approvedBy }: NonNullable<Person['statedDeparture']>): Html {
  if (isEmergency && approvedBy === null)
    return html`<p>Only ${by} stated it, so any other person can withdraw it at once. If ${by} withdraws it, it applies until a second person withdraws it too.</p>`
  return html`<p>Two people have to withdraw a departure that applies. It applies until the second one withdraws it too.</p>`
}

/** Withdraws a stated departure. */
export const withdrawDeparture: Action = {
  section: 'people',
  operation: 'withdrawDeparture',
  ask: async (context, fields) => {
    const person = await readPerson(context, fields, { values: seesValues(context.caller) })
    const { connections } = await context.control.status({ query: { connection: person.connection } })
    const { twoPeople = false } = connections[0] ?? {}
    const { statedDeparture: stated } = person
    return {
      title: `Withdraw the departure of ${person.identityId}?`,
      explanation: html`${whoIs(person)}${statementSoFar(person)}
<p>What HR says applies again. A person whom HR states as employed comes back at once.</p>
${twoPeople && stated?.applies && !isWithdrawn(stated) && whoWithdraws(stated)}`,
      fields: reasonField(fields),
      button: 'Withdraw the departure',
      hidden: { ...personParams(person), ...(stated && { on: stated.leavingDate }) },
      cancel: personHref(person),
    }
  },
  perform: async ({ control }, fields) => {
    const params = personId(fields)
    const on = fields('on')
    const { waits } = await control.withdrawDeparture({
      params,
      body: { ...(on !== '' && { on }), reason: fields('reason') },
    })
    const done = waits
      ? `The departure of ${params.identityId} applies until a second person withdraws it too.`
      : `HR’s data about ${params.identityId} applies again.`
    return { to: personHref(params), done }
  },
}
