import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { platformPrefix } from '../../contract/platform/platform.ts'
import { Refusal } from '../../http/refusal.ts'
import { field } from '../../http/server/form-tokens.ts'
import type { Html } from '../../web/html.ts'
import { notice } from '../../web/layout.ts'
import { pluralize } from '../../web/words.ts'
import { downloadUrlOf } from '../documents/downloads.ts'
import { type Attempt, recentAttempts } from '../identity-sync/attempts.ts'
import type { PageOperator } from '../operators/sessions.ts'
import type { PageActionOptions, PageActions } from './actions.ts'
import type { Send } from './layout.ts'
import { countSetByHand, countStatuses, groupsOfAccount, hrisConnections, lastSync, listPeople } from './people.ts'
import { type Account, accountsView, peopleView, resetAllView } from './people-view.ts'
import { findDocumentOf, readPerson } from './person.ts'
import { personView } from './person-view.ts'
import { nobodysId, type PeopleQuery, pagePrefix, peopleHref, readId, readQuery } from './query.ts'
import { runningAttempt, watchSeconds } from './sync-view.ts'
import type { FlashMessage, Visit, Visits } from './visits.ts'

type Services = Pick<PageActionOptions, 'db' | 'now'> & {
  readonly cursorSecret: string
  readonly visits: Visits
  readonly send: Send
  readonly acts: PageActions
}
type Route = (request: FastifyRequest, reply: FastifyReply, visit: Visit) => Promise<FastifyReply>

const maxSyncsShown = 10

/** The routes of the list of people and of its actions. */
export function peopleRoutes(page: FastifyInstance, services: Services): void {
  const { visits } = services
  const signedIn = (route: Route) => async (request: FastifyRequest, reply: FastifyReply) => {
    const visit = await visits.find(request)
    return visit ? route(request, reply, visit) : reply.redirect(`${pagePrefix}/sign-in`, 303)
  }
  const form = (route: Route) =>
    signedIn(async (request, reply, visit) => {
      visits.checkForm(request, visit)
      return route(request, reply, visit)
    })

  page.get('/', signedIn(peopleRoute(services)))
  page.get('/person', signedIn(personRoute(services)))
  page.get('/document', signedIn(documentRoute(services)))
  page.post('/sync', form(syncRoute(services)))
  page.post('/reset', form(resetRoute(services)))
  page.get('/reset-all', signedIn(confirmResetAllRoute(services)))
  page.post('/reset-all', form(resetAllRoute(services)))
}

function peopleRoute(services: Services): Route {
  const { visits, send } = services
  return async (request, reply, visit) => {
    const query = readQuery(searchOf(request))
    const accounts = await visibleAccounts(services, visit.operator)
    const [only] = accounts
    if (query.account === null && (accounts.length !== 1 || only === undefined)) {
      return send(reply, { title: 'Personnel', content: accountsView(accounts) }, visit)
    }
    const account = accounts.find(({ id }) => id === (query.account ?? only?.id))
    if (account === undefined) throw unknownAccount()
    const chosen = { account, hasChoice: accounts.length > 1, query: { ...query, account: account.id } }
    const content = await showPeople(services, { ...chosen, visit, reply, news: visits.takeFlash(request, reply) })
    return send(reply, { title: `Personnel of ${account.name}`, content }, visit)
  }
}

function personRoute(services: Services): Route {
  const { db, send } = services
  return async (request, reply, visit) => {
    const search = new URLSearchParams(searchOf(request))
    const account = await visibleAccount(services, visit.operator, readId(search.get('account')) ?? nobodysId)
    const personnelId = readId(search.get('person')) ?? nobodysId
    const person = await readPerson(db, { accountId: account.id, personnelId })
    if (person === null) throw unknownPerson()
    return send(reply, { title: person.name, content: personView(person, account.id) }, visit)
  }
}

/** Redirects to a new address of a file: the addresses are short-lived, and a page stays open for longer. */
function documentRoute(services: Services): Route {
  const { db, now, cursorSecret } = services
  return async (request, reply, visit) => {
    const search = new URLSearchParams(searchOf(request))
    const account = await visibleAccount(services, visit.operator, readId(search.get('account')) ?? nobodysId)
    const documentId = readId(search.get('document')) ?? nobodysId
    const document = await findDocumentOf(db, { accountId: account.id, documentId })
    if (document === null) throw new Refusal(404, 'There is no such document, or it was deleted.')
    return reply.redirect(downloadUrlOf({ cursorSecret, baseUrl: platformPrefix, now }, document).signedUrl, 303)
  }
}

function syncRoute(services: Services): Route {
  const { visits, acts } = services
  return async (request, reply, visit) => {
    const account = await accountOfForm(services, request, visit)
    const hasBegun = await acts.startSync({ operator: visit.operator, accountId: account.id })
    visits.setFlash(reply, { kind: hasBegun ? 'sync-started' : 'sync-running', count: 1 })
    return redirectBack(request, reply, { account: account.id, watch: true })
  }
}

function resetRoute(services: Services): Route {
  return async (request, reply, visit) => {
    const account = await accountOfForm(services, request, visit)
    const person = readId(field(request, 'person'))
    if (person === null || !(await isPersonOf(services, account.id, person))) throw unknownPerson()
    const { operator } = visit
    const count = await services.acts.reset({ operator, accountId: account.id, personnelIds: [person] })
    return answerReset(services, { request, reply, accountId: account.id, count })
  }
}

function confirmResetAllRoute(services: Services): Route {
  return async (request, reply, visit) => {
    const account = await visibleAccount(services, visit.operator, readQuery(searchOf(request)).account ?? nobodysId)
    const setByHand = await countSetByHand(services.db, account.id)
    const content = resetAllView({ account, setByHand, formToken: visit.formToken })
    return services.send(reply, { title: 'Reset everybody set by hand?', content }, visit)
  }
}

function resetAllRoute(services: Services): Route {
  return async (request, reply, visit) => {
    const account = await accountOfForm(services, request, visit)
    const count = await services.acts.reset({ operator: visit.operator, accountId: account.id })
    return answerReset(services, { request, reply, accountId: account.id, count })
  }
}

type ResetAnswer = {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly accountId: number
  /** Null if a sync was running. */
  readonly count: number | null
}

function answerReset({ visits }: Services, { request, reply, accountId, count }: ResetAnswer): FastifyReply {
  visits.setFlash(reply, count === null ? { kind: 'sync-running', count: 1 } : { kind: 'reset', count })
  return redirectBack(request, reply, { account: accountId, watch: count === null })
}

function accountOfForm(services: Services, request: FastifyRequest, { operator }: Visit): Promise<Account> {
  return visibleAccount(services, operator, readId(field(request, 'account')) ?? nobodysId)
}

type PeopleListContext = {
  readonly account: Account
  readonly hasChoice: boolean
  readonly query: PeopleQuery
  readonly visit: Visit
  readonly reply: FastifyReply
  readonly news: FlashMessage | null
}

async function showPeople({ db, now }: Services, shown: PeopleListContext): Promise<Html> {
  const { account, query, visit, reply, news } = shown
  const attempts = await recentAttempts(db, account.id, maxSyncsShown, now())
  // The header reloads the page like a `meta` element.
  if (query.watch && runningAttempt(attempts)) reply.header('refresh', String(watchSeconds))
  const view = {
    account,
    hasChoice: shown.hasChoice,
    query,
    page: await listPeople(db, { accountId: account.id, query, now: now() }),
    counts: await countStatuses(db, account.id),
    setByHand: await countSetByHand(db, account.id),
    connections: await hrisConnections(db, account.id),
    groups: await groupsOfAccount(db, account.id),
    attempts,
    lastSync: await lastSync(db, account.id),
    notice: news && describeFlash(news, attempts),
    formToken: visit.formToken,
    now: now(),
  }
  return peopleView(view)
}

// A sync may have ended between the request of the form and that of the page.
function describeFlash({ kind, count }: FlashMessage, attempts: readonly Attempt[]): Html {
  const isRunning = runningAttempt(attempts) !== null
  switch (kind) {
    case 'reset':
      return notice(
        count === 0
          ? 'No status was set by hand any more.'
          : `The next sync updates ${pluralize(count, 'person', 'people')} again.`,
      )
    case 'sync-started':
      if (isRunning) return notice('The sync has been started.')
      return attempts[0]?.state === 'finished'
        ? notice('The sync has finished.')
        : notice('The sync did not finish.', 'bad')
    case 'sync-running':
      return notice(
        isRunning
          ? 'An identity sync of this account is running already. Try again when it has ended.'
          : 'An identity sync of this account was running. It has ended: try again.',
        'bad',
      )
    default:
      return kind satisfies never
  }
}

async function visibleAccounts({ db }: Services, { accountId }: PageOperator): Promise<Account[]> {
  const accounts = db.selectFrom('accounts').select(['id', 'name']).orderBy('name')
  return accountId === null ? accounts.execute() : accounts.where('id', '=', accountId).execute()
}

async function visibleAccount({ db }: Services, { accountId }: PageOperator, id: number): Promise<Account> {
  if (accountId !== null && accountId !== id) throw unknownAccount()
  const account = await db.selectFrom('accounts').select(['id', 'name']).where('id', '=', id).executeTakeFirst()
  if (account === undefined) throw unknownAccount()
  return account
}

async function isPersonOf({ db }: Services, accountId: number, id: number): Promise<boolean> {
  const person = db.selectFrom('personnel').select('id').where('account_id', '=', accountId).where('id', '=', id)
  return (await person.executeTakeFirst()) !== undefined
}

/** Redirects to the list from which the form was sent. */
function redirectBack(request: FastifyRequest, reply: FastifyReply, to: Partial<PeopleQuery>): FastifyReply {
  return reply.redirect(peopleHref({ ...readQuery(field(request, 'back')), ...to }), 303)
}

function searchOf(request: FastifyRequest): string {
  return request.url.split('?').slice(1).join('?')
}

function unknownAccount(): Refusal {
  return new Refusal(404, 'There is no such account, or you may not see it.')
}

function unknownPerson(): Refusal {
  return new Refusal(404, 'There is no such person in this account.')
}
