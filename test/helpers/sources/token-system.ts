import { text } from 'node:stream/consumers'
import type { TlsOptions } from 'node:tls'
import { type Answer, type HrServer, json, pagesOfPeople, startHrServer } from './hr-server.ts'

/** A request for a token, as the server received it. */
export type ReceivedTokenRequest = {
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
  readonly form: URLSearchParams
}

export type TokenSystem = HrServer & {
  readonly tokenRequests: readonly ReceivedTokenRequest[]
  /** The pages that were requested, in order. */
  readonly listRequests: readonly { readonly path: string; readonly authorization: string | undefined }[]
  /** From now on the tokens issued so far are refused. */
  readonly revokeTokens: () => void
}

type TokenSystemOptions = {
  readonly tls?: TlsOptions
  readonly pages?: number
  /** What the token answer holds besides an access token. Called for each one. */
  readonly issues?: object | (() => object)
  /** Answers a request for a token in place of an access token. `issue` sends the token after all. */
  readonly onToken?: (request: ReceivedTokenRequest, issue: Answer) => Answer
  /** Called before a page is answered. */
  readonly onPage?: (number: number, system: Pick<TokenSystem, 'revokeTokens'>) => void
}

/** A real server that issues the tokens token-1, token-2 … at /token, and lists people to whoever has a valid one. */
export async function startTokenSystem({
  tls,
  pages = 1,
  issues = { token_type: 'Bearer', expires_in: 3600 },
  onToken = (_request, issue) => issue,
  onPage = () => {},
}: TokenSystemOptions = {}): Promise<TokenSystem> {
  const tokenRequests: ReceivedTokenRequest[] = []
  const listRequests: { path: string; authorization: string | undefined }[] = []
  const valid = new Set<string>()
  let issued = 0
  const revokeTokens = () => valid.clear()
  const answerToken = async (...[request, response]: Parameters<Answer>) => {
    const body = await text(request)
    const received = { path: request.url ?? '', headers: request.headers, body, form: new URLSearchParams(body) }
    tokenRequests.push(received)
    const issue: Answer = (...both) => {
      issued += 1
      valid.add(`token-${issued}`)
      const further = typeof issues === 'function' ? issues() : issues
      json({ access_token: `token-${issued}`, ...further })(...both)
    }
    onToken(received, issue)(request, response)
  }
  // With a total, one reading is enough.
  const people = pagesOfPeople(pages, {}, { total: pages })
  const server = await startHrServer((request, response) => {
    const path = request.url ?? ''
    if (path.startsWith('/token')) {
      answerToken(request, response).catch(() => response.destroy())
      return
    }
    const { authorization } = request.headers
    listRequests.push({ path, authorization })
    onPage(Number(/page=(\d+)/.exec(path)?.[1] ?? 1), { revokeTokens })
    const isValid = valid.has(authorization?.replace(/^\S+ /, '') ?? '')
    if (isValid) people(request, response)
    else response.writeHead(401).end('token-secret')
  }, tls)
  return { ...server, tokenRequests, listRequests, revokeTokens }
}

/** Settings of the list of a token system. */
export function peopleOf({ url }: HrServer) {
  return { url: `${url}/people`, records: '/people', next: '/next', pages: 'single' } as const
}

/** Client credentials for a token system. */
export function clientCredentials({ url }: HrServer) {
  return { grant: 'clientCredentials', tokenUrl: `${url}/token`, clientId: 'client-1', clientSecret: 'set' } as const
}
