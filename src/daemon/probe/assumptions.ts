import { byIdentityId, type Identity, type IdentityRecord } from '../../contract/platform/hris-user-identities.ts'
import { isSameDate } from '../../sync/target/look-up.ts'
import { answerText, change, type ProbeContext, read } from './asking.ts'
import { listConnections, listPeople, probeKeyPrefix, probeName } from './probe-connection.ts'

/** A probe of the platform: its own connection, with one invented person. */
export type Probe = ProbeContext & { readonly connectionId: number }

/** Something that Rollcall assumes of a platform. Assumptions are tested in order, each on the state that the previous ones left. */
export type Assumption = {
  readonly name: string
  /** The consequence if it does not hold. */
  readonly otherwise: string
  /** The others cannot be tested without it. */
  readonly isVital?: true
  /** Rollcall works without it. */
  readonly isOptional?: true
  /** Returns what it observed; throws `Differs` with what it observed instead. */
  readonly look: (probe: Probe) => Promise<string>
}

/** Thrown if the platform does not do what was assumed. */
export class Differs extends Error {
  override readonly name = 'Differs'
}

// The key has characters that a path must encode.
const key = `${probeKeyPrefix}/1 ä`
const person = { identityId: key, firstName: 'Rollcall', lastName: 'Probe', jobTitle: 'None', isContractor: false }
const refusedPerson = { identityId: `${probeKeyPrefix} refused`, email: 'no address' }
const [firstDate, secondDate] = ['2020-01-31T00:00:00.000Z', '2020-02-29T00:00:00.000Z']

/** The assumptions in the order in which they are tested. */
export const assumptions: readonly Assumption[] = [
  {
    name: 'a connection is listed under its name',
    otherwise: 'name the target by its id, or every run makes a connection',
    async look(probe) {
      const { connectionId } = probe
      const connection = (await listConnections(probe)).find(({ id }) => id === connectionId)
      if (!connection) throw new Differs(`connection ${connectionId} is not listed`)
      const observed = `connection ${connectionId} has the name "${connection.clientAlias ?? ''}"`
      if (connection.clientAlias !== probeName) throw new Differs(observed)
      return observed
    },
  },
  {
    name: 'a batch creates a person',
    otherwise: 'nobody can be sent',
    isVital: true,
    look: async (probe) => `the result is ${await sendPerson(probe, person)}`,
  },
  {
    name: 'the results come in the order of the batch',
    otherwise: 'the refusal of one person may be attributed to another',
    look: seeOrder,
  },
  {
    name: 'the list holds everybody who was sent',
    otherwise: 'verification, "resync --verify" and the recovery after a crash miss people',
    async look(probe) {
      await requireListed(probe)
      return 'the person is listed'
    },
  },
  {
    name: 'a path names a person by "identity-id:" and the key',
    otherwise: 'single people can be neither looked up, nor updated, nor removed',
    look: seeKey,
  },
  {
    name: 'a field that is left out keeps its value',
    otherwise: 'a change of one field may blank others: use "resync --full" after it',
    async look(probe) {
      await sendPerson(probe, { identityId: key, jobTitle: 'Changed' })
      const { firstName, jobTitle } = await requireListed(probe)
      const observed = `the name is ${quoteValue(firstName)}, the changed title ${quoteValue(jobTitle)}`
      if (firstName !== person.firstName || jobTitle !== 'Changed') throw new Differs(observed)
      return observed
    },
  },
  {
    name: 'an unchanged value is acknowledged',
    otherwise: 'people who are already as HR says become problems',
    look: async (probe) => `the result is ${await sendPerson(probe, { identityId: key, jobTitle: 'Changed' })}`,
  },
  {
    name: 'a leaving date is stored and listed',
    otherwise: 'departures cannot be recorded, or cannot be verified',
    look: async (probe) => await seeDate(probe, { sent: firstDate, held: firstDate }),
  },
  {
    name: 'a leaving date is written once',
    otherwise: 'corrections arrive all the same, with one request more than they need',
    look: async (probe) => await seeDate(probe, { sent: secondDate, held: firstDate }),
  },
  {
    name: 'null clears a leaving date',
    otherwise: 'nobody can be retracted, and no date corrected',
    look: async (probe) => await seeDate(probe, { sent: null, held: null }),
  },
  {
    name: 'a cleared date can be set again',
    otherwise: 'corrected dates do not arrive, and become problems',
    look: async (probe) => await seeDate(probe, { sent: secondDate, held: secondDate }),
  },
  {
    name: 'one person can be updated (PUT)',
    otherwise: 'Rollcall sends departures through the batch',
    isOptional: true,
    look: seeUpdate,
  },
  {
    name: 'a removed person is no longer listed',
    otherwise: '"rollcall retract" cannot be relied on',
    look: seeRemoval,
  },
  {
    name: 'sending a removed person brings the record back',
    otherwise: '"rollcall retract --undo" does not work',
    async look(probe) {
      const result = await sendPerson(probe, person)
      await requireListed(probe)
      return `the result is ${result}, and the person is listed`
    },
  },
]

/** Sends a good and a bad record in both orders: the results must match the order of the batch. */
async function seeOrder(probe: Probe): Promise<string> {
  const observed: string[] = []
  const good = (jobTitle: string) => ({ identityId: key, jobTitle })
  for (const records of [
    [refusedPerson, good('After')],
    [good('Before'), refusedPerson],
  ]) {
    const results = await send(probe, records)
    const statuses = results.map(({ statusCode }) => statusCode).join(', ')
    const isInOrder = records.every((record, position) => {
      const { statusCode = 0, data = null } = results[position] ?? {}
      return record === refusedPerson ? statusCode >= 400 : statusCode < 300 && data?.identityId === key
    })
    const sent = records.map((record) => (record === refusedPerson ? 'a bad one' : 'a good one')).join(' and ')
    if (!isInOrder || results.length !== 2) throw new Differs(`${sent} are answered ${statuses || 'with nothing'}`)
    observed.push(`${sent}: ${statuses}`)
  }
  return observed.join('; ')
}

async function seeKey(probe: Probe): Promise<string> {
  const outcome = await readPerson(probe)
  const keyText = `the key ${quoteValue(key)}`
  if (outcome.kind !== 'done') throw new Differs(`${keyText}: the platform ${answerText(outcome)}`)
  if (outcome.body.identityId !== key) throw new Differs(`${keyText} finds ${quoteValue(outcome.body.identityId)}`)
  return `${keyText} finds the person`
}

/** The leaving date to send, and the one that the platform must hold afterwards. */
type DateCheck = { readonly sent: string | null; readonly held: string | null }

async function seeDate(probe: Probe, { sent, held }: DateCheck): Promise<string> {
  await sendPerson(probe, { identityId: key, separatedAt: sent })
  const { separatedAt } = await requireListed(probe)
  const observed = `after ${sent?.slice(0, 10) ?? 'null'} the platform holds ${separatedAt?.slice(0, 10) ?? 'none'}`
  if (!isSameDate(separatedAt, held)) throw new Differs(observed)
  return observed
}

async function seeUpdate(probe: Probe): Promise<string> {
  const { connectionId } = probe
  const params = { connectionId, userIdentityId: byIdentityId(key) }
  const outcome = await change(probe, (client) =>
    client.updateHrisUserIdentity({ params, body: { jobTitle: 'Updated' } }),
  )
  if (outcome.kind !== 'done') throw new Differs(`the platform ${answerText(outcome)}`)
  const { jobTitle } = await requireListed(probe)
  if (jobTitle !== 'Updated') throw new Differs(`answered ${outcome.status}, and the title is ${quoteValue(jobTitle)}`)
  return `answered ${outcome.status}, and the record is changed`
}

async function seeRemoval(probe: Probe): Promise<string> {
  const { connectionId } = probe
  const params = { connectionId, userIdentityId: byIdentityId(key) }
  const outcome = await change(probe, (client) => client.deleteHrisUserIdentity({ params }))
  if (outcome.kind !== 'done') throw new Differs(`the platform ${answerText(outcome)}`)
  if ((await find(probe)) !== null) throw new Differs(`answered ${outcome.status}, and the person is still listed`)
  const after = await readPerson(probe)
  if (after.kind === 'done') throw new Differs('the person is not listed, and can still be read by key')
  return `answered ${outcome.status}; the person is not listed, and reading it is answered ${after.status}`
}

async function readPerson(probe: Probe) {
  const { connectionId } = probe
  const params = { connectionId, userIdentityId: byIdentityId(key) }
  return await read(probe, (client, options) => client.getHrisUserIdentity({ params }, options))
}

/** Sends one person. Returns the status of the result, which must be a success. */
async function sendPerson(probe: Probe, record: IdentityRecord): Promise<number> {
  const results = await send(probe, [record])
  const [result] = results
  if (result === undefined || results.length > 1)
    throw new Differs(`one record is answered with ${results.length} results`)
  const { statusCode, data, error } = result
  if (statusCode >= 300) throw new Differs(`the result is ${statusCode}: ${error?.message ?? 'no reason given'}`)
  if (data && data.identityId !== key) throw new Differs(`the result is about ${quoteValue(data.identityId)}`)
  return statusCode
}

async function send(probe: Probe, body: readonly IdentityRecord[]) {
  const { connectionId } = probe
  const outcome = await change(probe, (client) =>
    client.upsertHrisUserIdentities({ params: { connectionId }, body: [...body] }),
  )
  if (outcome.kind !== 'done') throw new Differs(`the platform ${answerText(outcome)}`)
  return outcome.body
}

async function requireListed(probe: Probe): Promise<Identity> {
  const entry = await find(probe)
  if (entry === null) throw new Differs('the person is not listed')
  return entry
}

async function find(probe: Probe): Promise<Identity | null> {
  const people = await listPeople(probe, probe.connectionId)
  return people.find(({ identityId }) => identityId === key) ?? null
}

function quoteValue(value: string | null): string {
  return value === null ? 'null' : `"${value}"`
}
