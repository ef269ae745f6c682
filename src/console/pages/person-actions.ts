import type { Person } from '../../contract/control/shapes.ts'
import { actionLink, textField } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { day, formatInstant } from '../../web/words.ts'
import type { Action, PageContext, Site } from '../site/site.ts'
import { personHref, reasonField, runHref } from '../site/words.ts'
import { departureButtons, isSecondAwaited, stateDeparture, withdrawDeparture } from './departure-actions.ts'
import { personId, personParams, readPerson } from './person-form.ts'

/** Adds the actions on one person: sync, hold a departure back, state one, retract, and the way back from each. */
export function personActions(site: Site): void {
  site.action('/person/sync', syncPerson)
  site.action('/person/hold-back', holdBack)
  site.action('/person/end-hold-back', endHoldBack)
  site.action('/person/state-departure', stateDeparture)
  site.action('/person/withdraw-departure', withdrawDeparture)
  site.action('/person/retract', retract)
  site.action('/person/withdraw-retraction', withdrawRetraction)
}

/** The buttons on the page of a person. */
export function personButtons(person: Person, context: PageContext): Html {
  const to = (action: string) => `/person/${action}?${new URLSearchParams(personParams(person)).toString()}`
  return html`${actionLink({
    href: to('sync'),
    name: 'Sync now',
    ...(!isSecondAwaited(person, context.now) && { kind: 'main' as const }),
    notAllowed: context.notAllowed('startRun'),
  })}
${
  person.heldBack
    ? actionLink({ href: to('end-hold-back'), name: 'End hold-back', notAllowed: context.notAllowed('endHoldBack') })
    : actionLink({ href: to('hold-back'), name: 'Hold back', notAllowed: context.notAllowed('holdBack') })
}
${departureButtons(person, context, to)}
${
  person.retracted
    ? actionLink({
        href: to('withdraw-retraction'),
        name: 'Undo the retraction',
        notAllowed: context.notAllowed('withdrawRetraction'),
      })
    : actionLink({
        href: to('retract'),
        name: 'Retract',
        kind: 'danger',
        notAllowed: context.notAllowed('retractPerson'),
      })
}`
}

const syncPerson: Action = {
  section: 'people',
  operation: 'startRun',
  ask: async (context, fields) => {
    const person = await readPerson(context, fields)
    return {
      title: `Sync ${person.identityId} now?`,
      explanation: html`<p>Rollcall reads this person from HR’s source and delivers the differences to the platform. No other person is changed. The guards check the plan.</p>`,
      button: 'Sync this person now',
      hidden: personParams(person),
      cancel: personHref(person),
    }
  },
  perform: async ({ control }, fields) => {
    const { connection, identityId } = personId(fields)
    const run = await control.startRun({ params: { connection }, body: { person: identityId } })
    return { to: runHref(run.id), done: `${identityId} is being synced.` }
  },
}

const holdBack: Action = {
  section: 'people',
  operation: 'holdBack',
  ask: async (context, fields) => {
    const person = await readPerson(context, fields)
    return {
      title: `Hold the departure of ${person.identityId} back?`,
      explanation: html`<p>Until the day that you enter, Rollcall ignores everything in HR’s data that says that this person has left, and sends no departure. If the platform shows the person as left, they return at once.</p>
<p>From that day on, HR’s data applies again by itself.</p>`,
      fields: html`${textField({ name: 'until', label: 'Until', type: 'date', value: fields('until'), required: true })}${reasonField(fields)}`,
      button: 'Hold the departure back',
      hidden: personParams(person),
      cancel: personHref(person),
    }
  },
  perform: async ({ control }, fields) => {
    const params = personId(fields)
    const body = { until: fields('until'), reason: fields('reason') }
    await control.holdBack({ params, body })
    return { to: personHref(params), done: `The departure of ${params.identityId} is held back until ${body.until}.` }
  },
}

const endHoldBack: Action = {
  section: 'people',
  operation: 'endHoldBack',
  ask: async (context, fields) => {
    const person = await readPerson(context, fields)
    return {
      title: `End the hold-back of ${person.identityId}?`,
      explanation: heldBackText(person),
      button: 'End the hold-back',
      hidden: personParams(person),
      cancel: personHref(person),
    }
  },
  perform: async ({ control }, fields) => {
    const params = personId(fields)
    await control.endHoldBack({ params, body: {} })
    return { to: personHref(params), done: `HR’s data about ${params.identityId} applies again.` }
  },
}

function heldBackText({ heldBack }: Person): Html {
  if (!heldBack) return html`<p>No departure of this person is held back.</p>`
  const { by, until, reason, leaving } = heldBack
  return html`<p>${by} holds departures of this person back until ${day(until)}: ${reason}.</p>
<p>${leaving ? html`HR says that they left on ${day(leaving.separatedAt)}. Rollcall plans that departure at once.` : 'HR states no departure, so nothing is sent now.'}</p>`
}

const retract: Action = {
  section: 'people',
  operation: 'retractPerson',
  ask: async (context, fields) => {
    const person = await readPerson(context, fields)
    return {
      title: `Retract ${person.identityId}?`,
      explanation: html`<p>Retract a person who was sent by mistake, such as a test account. The plan <strong>deletes</strong> their data on the platform. Do not retract somebody who has left: a departure is recorded by a date.</p>
<p>The plan is held: nothing is deleted before somebody approves it. After that, Rollcall does not send the person even if the source contains them.</p>`,
      fields: reasonField(fields),
      button: 'Plan the retraction',
      danger: true,
      hidden: personParams(person),
      cancel: personHref(person),
    }
  },
  perform: async ({ control }, fields) => {
    const params = personId(fields)
    const run = await control.retractPerson({ params, body: { reason: fields('reason') } })
    return {
      to: runHref(run.id),
      done: `The retraction of ${params.identityId} was requested. It waits for an approval.`,
    }
  },
}

const withdrawRetraction: Action = {
  section: 'people',
  operation: 'withdrawRetraction',
  ask: async (context, fields) => {
    const person = await readPerson(context, fields)
    const { retracted } = person
    return {
      title: `Undo the retraction of ${person.identityId}?`,
      explanation: html`${retracted && html`<p>The person was retracted at ${formatInstant(retracted.at)}: ${retracted.reason}.</p>`}
<p>A run then sends the person again, with the data of the source.</p>`,
      button: 'Undo the retraction',
      hidden: personParams(person),
      cancel: personHref(person),
    }
  },
  perform: async ({ control }, fields) => {
    const params = personId(fields)
    const run = await control.withdrawRetraction({ params, body: {} })
    return { to: runHref(run.id), done: `${params.identityId} is being sent again.` }
  },
}
