import type { FastifyInstance, FastifyRequest } from 'fastify'
import { control, controlPrefix } from '../../contract/control/control.ts'
import { controlExamples } from '../../contract/control/examples.ts'
import { live } from '../../contract/control/live.ts'
import { endedOrHeldStates } from '../../contract/control/shapes.ts'
import type { OperationTable } from '../../contract/operation.ts'
import { type Area, openapi } from '../../http/openapi.ts'
import { compressed } from '../../http/server/app.ts'
import { serveReferencePage } from '../../http/server/reference-page.ts'

const title = 'Rollcall control API'
const documentPath = '/api/openapi.json'

/** The chapters of the document: operations by their path. Others are in the last one. */
const chapters: readonly (readonly [tag: string, path: RegExp])[] = [
  ['People', /\/people|\/hold-backs|\/stated-departures|\/leavers|\/effective|\/reports|\/keys/],
  ['Runs and plans', /\/runs|\/plan/],
  ['Problems and alerts', /\/problems|\/blocked-people|\/alerts|\/failures|\/unblock/],
  ['Sources and events', /\/sources|\/events/],
  ['Connections', /\/connections/],
  ['Audit trail', /\/audit/],
  ['Installation', /(?:)/],
]

const introduction = `
What the console and the commands use, and nothing else: whatever they can do, a program can do here. Everything is JSON over HTTP, below
\`${controlPrefix}\`. This page is drawn from \`${documentPath}\`, from which clients can be generated.

## Who may

Over TCP send a token with every request: \`Authorization: Bearer <token>\`; an admin makes one with \`rollcall token create\`. Each token has
a role, and each role may do what those before it may: viewer, operator, approver, admin. The account of the daemon needs none: it asks at
the Unix socket in the data folder. Personal values are left out unless \`values=true\` is asked for, which needs the role operator; each look
at a person is an act of the audit trail.

| Status | Reason |
|---|---|
| 401 | the token is missing, unknown, expired or revoked |
| 429 | too many wrong tokens, or too many requests, came from this address; \`Retry-After\` says in seconds when to come again |
| 400 | the path, the query or the body is not what the operation takes |
| 403 | the role of the token is not enough |
| 404 | what the request names is not there |
| 409 | the state of the thing does not allow this now |
| 413 | the body is larger than 10 MiB, or an export that is uploaded than 256 MiB |
| 415 | the body is of another kind than the operation takes |
| 503 | the store, the source or the platform cannot be reached now |

The body of an error has \`message\`, which is for people, and where there is one \`name\`, the code of the failure. Every answer carries
\`X-Request-Id\`; send one of your own, and it is kept.

## Lists

A list returns \`{ "data": [...], "next": "..." }\`. Send \`next\` as \`after\`, with the same filters, to get the next page; on the last page it is
null. \`limit\` is at most 1000. Any other value of \`after\` is refused with 400. Each page costs the same, however long the list is.

## Runs

A request for a run returns at once, and the run continues. Read it until its state is ${endedOrHeldStates.slice(0, -1).join(', ')}
or ${endedOrHeldStates.at(-1)}, or watch \`${controlPrefix}/events/live\`, which sends every change of state. A held run waits for a person: an approval repeats the digest of the
plan, so that nobody approves another plan than the one that was read.
`.trim()

/** The OpenAPI document of the control API. */
export function controlDocument(version: string) {
  return openapi(areas({ ...control, ...live }), {
    title,
    version,
    description: introduction,
    isLimited: true,
    callersHave: 'role',
    examples: controlExamples,
    servers: [controlPrefix],
  })
}

/** Serves the document, and a page to read it, to those who may use the API. */
export function serveDocument(
  app: FastifyInstance,
  { version, admit }: { readonly version: string; readonly admit: (request: FastifyRequest) => Promise<unknown> },
): void {
  // Made on request: it takes a quarter of a start, and memory that a daemon keeps from then on.
  let document: ReturnType<typeof controlDocument> | null = null
  const onRequest = async (request: FastifyRequest) => {
    await admit(request)
  }
  app.get(documentPath, { compress: compressed, onRequest }, async () => {
    document ??= controlDocument(version)
    return document
  })
  serveReferencePage(app, { documentPath, title, admit, signIn: '/sign-in' })
}

function areas(table: OperationTable): Area[] {
  const byTag = Map.groupBy(
    Object.entries(table),
    ([, { path }]) => chapters.find(([, of]) => of.test(path))?.[0] ?? '',
  )
  return chapters.map(([tag]) => ({ tag, operations: Object.fromEntries(byTag.get(tag) ?? []) }))
}
