import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { z } from 'zod'

const Value = z.object({ stringValue: z.string().optional(), intValue: z.union([z.string(), z.number()]).optional() })
const Attributes = z.array(z.object({ key: z.string(), value: Value })).default([])

const Span = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().default(''),
  name: z.string(),
  kind: z.number(),
  startTimeUnixNano: z.string(),
  endTimeUnixNano: z.string(),
  attributes: Attributes,
  status: z.object({ code: z.number().optional() }).default({}),
})

const Sent = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: Attributes }),
      scopeSpans: z.array(z.object({ spans: z.array(Span) })),
    }),
  ),
})

type Facts = Readonly<Record<string, string | number | undefined>>

/** A span as it came in, with what was said of the process that sent it. */
export type ReceivedSpan = Omit<z.infer<typeof Span>, 'attributes'> & {
  readonly facts: Facts
  readonly process: Facts
}

export type Collector = AsyncDisposable & {
  readonly url: string
  readonly port: number
  /** The bodies as they came in, and with which headers. */
  readonly bodies: readonly string[]
  readonly headers: readonly IncomingHttpHeaders[]
  spans(): ReceivedSpan[]
}

/** A collector of OpenTelemetry that takes OTLP over HTTP as JSON; `answer` says with which status. */
export async function startCollector({
  port: desired = 0,
  answer = async () => 200,
}: {
  port?: number
  answer?: () => Promise<number>
} = {}): Promise<Collector> {
  const bodies: string[] = []
  const headers: IncomingHttpHeaders[] = []
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const status = request.method === 'POST' && request.url === '/v1/traces' ? await answer() : 404
    if (status === 200) {
      bodies.push(body)
      headers.push(request.headers)
    }
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
  })
  server.listen(desired, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    bodies,
    headers,
    spans: () => bodies.flatMap(spansOf),
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function spansOf(body: string): ReceivedSpan[] {
  return Sent.parse(JSON.parse(body)).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ attributes, ...span }) => ({
        ...span,
        facts: factsOf(attributes),
        process: factsOf(resource.attributes),
      })),
    ),
  )
}

function factsOf(attributes: z.infer<typeof Attributes>): Facts {
  return Object.fromEntries(
    attributes.map(({ key, value: { stringValue, intValue } }) => [key, stringValue ?? Number(intValue)]),
  )
}
