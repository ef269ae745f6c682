import type { DeliveryFailureCode } from '../../../src/contract/failures.ts'
import { temporaryFolder } from '../sources/folders.ts'
import { json, makeCertificates, startHrServer } from '../sources/hr-server.ts'
import { faults, refusedItem, resultChanges } from './faults.ts'
import type { Fault, ReceivedRequest } from './proxy.ts'
import type { Story, StoryOptions } from './story.ts'

/** Something that goes wrong in the night in which everything happens. */
export type Trouble = {
  readonly name: string
  readonly options?: StoryOptions
  /** Answers what ends it, where that takes more than that everything passes again. */
  begin(story: Story): unknown
  /** How long a batch is left alone, where the platform names a time. */
  readonly waitMs?: number
  /** The most requests that would change somebody, where it is not one for each batch, or one for both where they are blocked. */
  readonly requests?: number
  /** Who ends as a problem. */
  readonly refused?: readonly string[]
  /** How often these people are sent once it is over, where it is not once each and twice for a corrected date. */
  readonly timesSentAgain?: Readonly<Record<string, number>>
}

const hourMs = 60 * 60_000

/** What can only happen to a connection that takes records. */
type OfRecords = 'record_misshapen' | 'session_refused' | 'session_in_progress' | 'session_lost' | 'schema_differs'

/** Ways into every row of the table of failures that people can meet. */
export const troubles: Readonly<Record<Exclude<DeliveryFailureCode, OfRecords>, readonly Trouble[]>> = {
  item_refused: [
    {
      ...changing('one item is told as refused', faults.results('with a 400', refusedItem(0, 400))),
      refused: ['E0002'],
    },
  ],
  item_failed: [
    { ...changing('one item is told as failed', faults.results('with a 500', refusedItem(0, 500))), requests: 5 },
  ],
  results_unmatched: (['reversed', 'shortened', 'lengthened', 'empty'] as const).map((name) =>
    changing(`the list of results is ${name}`, faults.results(name, resultChanges[name])),
  ),
  date_ignored: [
    {
      name: 'the platform holds a leaving date that nobody here knows of',
      begin: (story) => story.platformHolds({ identityId: 'E0003', separatedAt: '2026-02-02T00:00:00.000Z' }),
    },
  ],
  date_kept: [
    {
      name: 'clearing a leaving date is answered with success and changes nothing',
      options: { delivery: { updateWave: 0 } },
      begin: (story) => story.setFault((request) => (clearsDate(request) ? nothingChanged(request) : faults.pass)),
      refused: ['E0005'],
      // Known as cleared by then: set, cleared once more, set.
      timesSentAgain: { E0005: 3 },
    },
  ],
  batch_refused: [400, 422].map((status) => ({
    name: `${status} for every batch with a certain person`,
    begin: (story) => story.setFault((request) => refusing(status, request.identityIds.includes('E0002'))),
    refused: ['E0002'],
  })),
  batch_too_large: [
    {
      name: '413 for every batch of more than one',
      begin: (story) => story.setFault((request) => refusing(413, request.identityIds.length > 1)),
    },
  ],
  splitting_paused: [
    {
      name: 'everybody in a batch of 120 is refused',
      options: { people: 120 },
      begin(story) {
        for (const id of story.hr.people.keys()) story.hr.change(id, { title: 'Unwanted' })
        story.setFault((request) => refusing(400, request.operation === 'upsertHrisUserIdentities'))
      },
      waitMs: 1000,
      requests: 1 + 100 + 4,
    },
  ],
  person_refused: [400, 413].map((status) => ({
    name: `${status} for the update of a certain person`,
    begin: (story) => story.setFault((request) => refusing(status, request.identityIds.includes('E0003'))),
    refused: ['E0003'],
  })),
  person_missing: [
    {
      name: 'somebody took the leaver off the platform',
      begin: (story) => story.platformLoses('E0003'),
    },
  ],
  rate_limited: [
    { ...answering('429 with seconds', 429, { 'retry-after': '7' }), waitMs: 7000 },
    { ...answering('429 with a date', 429, datesApart(90)), waitMs: 90_000 },
    { ...answering('429 without a time', 429), waitMs: 15_000 },
    { ...answering('429 with a time that nobody can read', 429, { 'retry-after': 'soon' }), waitMs: 15_000 },
    { ...answering('429 with half seconds', 429, { 'retry-after': '2.5' }), waitMs: 2500 },
    { ...answering('429 with less than nothing', 429, { 'retry-after': '-1' }), waitMs: 15_000 },
    { ...answering('429 with no time at all', 429, { 'retry-after': '0' }), waitMs: 1000 },
    { ...answering('429 with a week', 429, { 'retry-after': '604800' }), waitMs: 3_600_000 },
  ],
  circuit_open: [
    {
      name: 'the first failure opens the circuit',
      begin(story) {
        story.useCircuit({ failures: 1, firstMs: hourMs, maxMs: hourMs })
        story.setFault(faults.answer({ status: 500 }))
      },
    },
  ],
  server_error: [
    answering('500', 500),
    changing('500 after it was applied', faults.answer({ status: 500, forwarded: true })),
    changing('502 with a page for people', faults.html({ status: 502 })),
    answering('408', 408),
    { ...answering('503 with seconds', 503, { 'retry-after': '1800' }), waitMs: 1_800_000 },
    { ...answering('503 with a date', 503, datesApart(1800)), waitMs: 1_800_000 },
  ],
  unreadable: [
    changing('a page for people, with 200', faults.html({ status: 200 })),
    changing('a page for people, with 200, after it was applied', faults.html({ status: 200, forwarded: true })),
    changing('202, which says nothing of the outcome', faults.answer({ status: 202, forwarded: true })),
    changing('JSON that is cut short', faults.truncated),
    changing('JSON of another shape', faults.answer({ status: 200, body: { ok: true }, forwarded: true })),
    changing('a body without end', faults.oversized(33)),
    changing('a body that is not UTF-8', faults.garbled),
    changing('half of a body of known length', faults.half('length')),
    changing('half of a body in chunks', faults.half('chunked')),
  ],
  redirected: [302, 307].map((status) => ({
    name: `${status} to another server`,
    async begin(story) {
      const elsewhere = story.use(await startHrServer(json({})))
      story.setFault(faults.redirect({ status, to: elsewhere.url }))
    },
  })),
  not_connected: [{ name: 'the connection is refused', begin: ({ proxy }) => proxy.line('refused') }],
  name_unknown: [
    { name: 'the name has no address', begin: (story) => story.useAddress('https://platform.invalid/public/v2') },
  ],
  tls_failed: [
    {
      name: 'an authority that nobody knows',
      async begin(story) {
        const folder = story.use(await temporaryFolder())
        const { server } = await makeCertificates(folder.path)
        story.useAddress(story.use(await startHrServer(json({}), server)).url)
      },
    },
    {
      name: 'a server that does not speak TLS',
      begin: (story) => story.useAddress(story.proxy.baseUrl.replace('http:', 'https:')),
    },
  ],
  timed_out: [
    hanging('nothing comes, and nothing was applied', faults.hang({ forwarded: false })),
    hanging('nothing comes, after it was applied', faults.hang({ forwarded: true })),
    hanging('the body stops in the middle', faults.hangInBody),
    {
      name: 'the connection is accepted without a word',
      async begin(story) {
        story.useShortTimeout()
        await story.proxy.line('silent')
      },
    },
  ],
  connection_lost: [
    changing('a reset before it was applied', faults.resetBefore),
    changing('a reset after it was applied', faults.resetAfter),
  ],
  stopped: [
    {
      name: 'the process is told to stop while the platform works',
      begin: (story) =>
        story.setFault({
          name: 'stop',
          async play({ forward }) {
            await forward()
            story.stop()
          },
        }),
    },
  ],
  key_refused: [answering('401', 401)],
  plan_lacks: [answering('402', 402)],
  permission_missing: [answering('403', 403)],
  terms_not_accepted: [answering('412', 412)],
  connection_missing: [
    {
      name: '404 for everything of the connection',
      begin: ({ proxy }) => proxy.fault(({ operation }) => refusing(404, /Identit/.test(operation ?? ''))),
    },
  ],
  connection_unsuitable: [
    {
      name: 'another connection takes the same name before it is looked up again',
      begin: (story) => story.rivalConnection(),
      requests: 0,
    },
  ],
  being_looked_up: [
    {
      name: 'another process looks the connection up',
      begin: (story) => story.lookedUpElsewhere(),
    },
  ],
  connection_unknown: [
    {
      name: 'the configuration loses the connection between the plan and its delivery',
      begin: (story) => story.beforeDelivery(() => story.configure(false)),
      waitMs: 10_000,
      requests: 0,
    },
  ],
}

/** Every request that would change somebody meets the fault. */
function changing(name: string, fault: Fault): Trouble {
  return { name, begin: (story) => story.setFault(fault) }
}

function answering(name: string, status: number, headers: Readonly<Record<string, string>> = {}): Trouble {
  return changing(name, faults.answer({ status, headers }))
}

function hanging(name: string, fault: Fault): Trouble {
  return {
    name,
    begin(story) {
      story.useShortTimeout()
      story.setFault(fault)
    },
  }
}

function refusing(status: number, guilty: boolean): Fault {
  return guilty ? faults.answer({ status, body: { message: 'this will not do' } }) : faults.pass
}

/** On the platform's own clock, which is years behind. */
function datesApart(seconds: number): Record<string, string> {
  const sent = Date.parse('2020-02-29T12:00:00.000Z')
  return { date: new Date(sent).toUTCString(), 'retry-after': new Date(sent + seconds * 1000).toUTCString() }
}

/** The first step of E0005's correction. */
function clearsDate({ body }: ReceivedRequest): boolean {
  return Array.isArray(body) && body.length === 1 && body[0].identityId === 'E0005' && body[0].separatedAt === null
}

function nothingChanged({ identityIds }: ReceivedRequest): Fault {
  return faults.answer({ status: 200, body: identityIds.map(() => ({ statusCode: 200, data: null })) })
}
