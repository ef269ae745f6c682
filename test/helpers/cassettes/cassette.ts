import { readFile } from 'node:fs/promises'
import { z } from 'zod'

const Json = z.json()

/** One request to an HR system and its answer. A body is JSON where it was, else text. */
const Exchange = z.strictObject({
  /** The body of a request for a token is left out. */
  request: z.strictObject({ method: z.string(), path: z.string(), body: Json.optional() }),
  /** `status` null: the connection broke. */
  response: z.strictObject({
    status: z.int().nullable(),
    headers: z.record(z.string(), z.string()),
    body: Json.optional(),
  }),
})
export type Exchange = z.infer<typeof Exchange>

/** A reading of a list over HTTP that a server can replay, without secrets and without the people in it. */
export const Cassette = z.strictObject({
  /** When it was read, an ISO instant. */
  recordedAt: z.iso.datetime(),
  /** How the reading failed; null if it did not. */
  failure: z.string().nullable(),
  /** The settings of the source. {origin} stands for the address of the system, and [secret] for secrets. */
  source: z.record(z.string(), Json),
  /** The paths of the secrets below the source. */
  secrets: z.array(z.string()),
  /** The mapping of the connection, with that of its preset. */
  mapping: z.record(z.string(), Json),
  /** In the order of the requests. */
  exchanges: z.array(Exchange),
})
export type Cassette = z.infer<typeof Cassette>

/** What stands for the address of the system. */
export const originName = '{origin}'

/** What stands for a secret. */
export function standInFor(secretPath: string): string {
  return `secret-${secretPath.replaceAll(/[^A-Za-z0-9]/g, '-')}`
}

/** A cassette of test/fixtures/cassettes. */
export async function readCassette(name: string): Promise<Cassette> {
  const file = new URL(`../../fixtures/cassettes/${name}.json`, import.meta.url)
  return Cassette.parse(JSON.parse(await readFile(file, 'utf8')))
}
