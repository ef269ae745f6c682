import { Agent, request } from 'undici'

/** Signs in with a token, as a browser does. Answers the cookie by which pages know who is there. */
export async function signIn(url: string, token: string): Promise<string> {
  const form = await fetch(`${url}/sign-in`)
  const [, formToken = ''] = /name="token"[^>]*value="([^"]+)"/.exec(await form.text()) ?? []
  const answer = await fetch(`${url}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: cookiesOf(form), origin: url },
    body: new URLSearchParams({ access: token, token: formToken, to: '/' }),
  })
  await answer.arrayBuffer()
  if (answer.status !== 303) throw new Error(`the sign-in was answered with status ${answer.status}`)
  return cookiesOf(answer)
}

function cookiesOf({ headers }: Response): string {
  return headers
    .getSetCookie()
    .map((line) => line.slice(0, line.indexOf(';')))
    .filter((pair) => !pair.endsWith('='))
    .join('; ')
}

/** A visitor who signs in again and again and keeps the event stream open. */
export type Visitor = AsyncDisposable & {
  /** Signs in again and reads every page. Throws if a page fails. */
  visit(paths: readonly string[]): Promise<void>
  /** How many pages were read. */
  readonly pages: number
  /** When each sign-in was, in milliseconds of this process. */
  readonly signIns: readonly number[]
  /** Number of events received from the stream. */
  readonly eventsReceived: number
}

export async function openVisitor(url: string, token: string): Promise<Visitor> {
  await using opening = new AsyncDisposableStack()
  const agent = new Agent()
  opening.defer(() => agent.destroy())
  const visitor = { pages: 0, signIns: [] as number[], eventsReceived: 0 }
  const leaving = new AbortController()
  const { statusCode, body } = await request(`${url}/api/v1/events/live`, {
    dispatcher: agent,
    headers: { authorization: `Bearer ${token}` },
    signal: leaving.signal,
    bodyTimeout: 0,
  })
  if (statusCode !== 200) throw new Error(`what happens was answered with status ${statusCode}`)
  body.on('data', (chunk: Buffer) => {
    visitor.eventsReceived += String(chunk).split('\nevent:').length - 1 + Number(String(chunk).startsWith('event:'))
  })
  const closed = new Promise((resolve) => body.once('close', resolve))
  // Disposing aborts the stream, which emits an error.
  body.on('error', () => {})
  const opened = opening.move()
  return {
    get pages() {
      return visitor.pages
    },
    get signIns() {
      return visitor.signIns
    },
    get eventsReceived() {
      return visitor.eventsReceived
    },
    async visit(paths) {
      if (body.destroyed) throw new Error('the stream of what happens has ended')
      visitor.signIns.push(performance.now())
      const cookie = await signIn(url, token)
      for (const path of paths) {
        const page = await request(url + path, { dispatcher: agent, headers: { cookie } })
        await page.body.dump({ limit: 10_000_000 })
        if (page.statusCode !== 200) throw new Error(`${path} was answered with status ${page.statusCode}`)
        visitor.pages += 1
      }
    },
    async [Symbol.asyncDispose]() {
      leaving.abort()
      await closed
      await opened.disposeAsync()
    },
  }
}
