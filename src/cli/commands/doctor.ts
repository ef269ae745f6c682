import { readFile, writeFile } from 'node:fs/promises'
import { availableParallelism, freemem, homedir, release, totalmem } from 'node:os'
import { buffer } from 'node:stream/consumers'
import { ZipFile } from 'yazl'
import { checkAll } from '../../daemon/check.ts'
import type { Config } from '../../daemon/config/config.ts'
import { Secret } from '../../daemon/config/secret.ts'
import type { CheckResult } from '../../daemon/probe/check-result.ts'
import { errorCode, Failure } from '../../errors.ts'
import { silentEvents } from '../../telemetry/events.ts'
import { escapeJson, escapeLines } from '../../text/escape.ts'
import { version } from '../../version.ts'
import { shownConfiguration } from '../doctor/configuration.ts'
import { blockedPeoplePart, problemsPart, runPart, statusPart } from '../doctor/parts.ts'
import { createScrub, type Scrub } from '../doctor/scrub.ts'
import { escapeText, type Paint, pluralize } from '../render/text.ts'
import { statusOfAll } from '../session/all-connections.ts'
import { type Control, controlOverSocket } from '../session/control-client.ts'
import { daemonForCheck } from '../session/daemon-for-check.ts'
import { findDaemon } from '../session/find-daemon.ts'
import { createOutput } from '../session/output.ts'
import { type CommonOptions, configOf } from '../session/session.ts'
import { listenForStop } from '../session/stop-signal.ts'

const runsKept = 50
const entriesLookedAt = 1000

type SupportFile = {
  readonly file: string
  readonly parts: readonly { readonly name: string; readonly failed: string | null }[]
}

/**
 * Writes a support file without personal values and secrets. If a part cannot be read, the file says why and has the other parts.
 */
export async function doctor(file: string | undefined, options: CommonOptions): Promise<number> {
  const output = createOutput(options)
  using stop = listenForStop()
  const config = await configOf(options, { secrets: 'when needed' })
  const folders = {
    [config.dataDir]: '(data folder)',
    [config.folder]: '(folder of the configuration)',
    [homedir()]: '(home)',
  }
  const scrub = createScrub(await secretTexts(config), folders)
  const parts = await gather(config, scrub, stop.signal)
  stop.signal.throwIfAborted()
  const target = file ?? `rollcall-doctor-${new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}.zip`
  await write(target, await zip(parts, scrub))
  const document: SupportFile = { file: target, parts: parts.map(({ name, failed }) => ({ name, failed })) }
  output.printResult(document, renderSupportFile)
  return 0
}

/** What the support file contains, and which parts are missing. */
export function renderSupportFile({ file, parts }: SupportFile, paint: Paint): string {
  const missing = parts.flatMap(({ name, failed }) =>
    failed === null ? [] : [`${paint('yellow', '!')} ${name}: ${escapeText(failed)}`],
  )
  return [
    `${paint('green', '✔')} ${escapeText(file)} has ${pluralize(parts.length, 'part')}: no values of people and no secrets. Look into it before you send it.`,
    ...missing,
  ].join('\n')
}

type Part = { readonly name: string; readonly content: string; readonly failed: string | null }

async function gather(config: Config, scrub: Scrub, signal: AbortSignal): Promise<Part[]> {
  const parts: Part[] = []
  async function add(name: string, content: () => Promise<unknown>): Promise<void> {
    try {
      const value = await content()
      const text = typeof value === 'string' ? value : `${escapeJson(JSON.stringify(value, null, 2))}\n`
      parts.push({ name, content: text, failed: null })
    } catch (error) {
      signal.throwIfAborted()
      const failed = scrub.text(
        error instanceof Failure ? `${error.code}: ${error.message}` : `unexpected: ${errorCode(error) ?? 'an error'}`,
      )
      parts.push({ name, content: `this part is missing: ${failed}\n`, failed })
    }
  }

  await add('about.txt', async () => about)
  await add('versions.json', async () => machine())
  await add('environment.json', async () => Object.keys(process.env).sort())
  await add('configuration.yaml', async () => shownConfiguration(await readFile(config.file, 'utf8'), scrub))
  await add('check.json', async () => await checks(config, scrub, signal))
  await using opened = await openControl(config, signal).catch((error: unknown) => ({
    control: () => {
      throw error
    },
    [Symbol.asyncDispose]: async () => undefined,
  }))
  const control = (): Control => opened.control()
  await add('status.json', async () => statusPart(await statusOfAll(control(), {}), scrub))
  await add('runs.json', async () =>
    (await control().listRuns({ query: { limit: runsKept } })).data.map((run) => runPart(run, scrub)),
  )
  await add('problems.json', async () =>
    problemsPart((await control().listProblems({ query: { limit: entriesLookedAt } })).data, scrub),
  )
  await add('blocked-people.json', async () =>
    blockedPeoplePart((await control().listBlockedPeople({ query: { limit: entriesLookedAt } })).data, scrub),
  )
  await add('store.json', async () => await control().diagnose({}))
  return parts
}

async function openControl(config: Config, signal: AbortSignal) {
  const daemon = await findDaemon(config)
  if (daemon) return { control: () => controlOverSocket(daemon), [Symbol.asyncDispose]: async () => undefined }
  const { openLocally: openHere } = await import('../session/command-context.ts')
  const here = await openHere(config, { isReadOnly: true, signal })
  return { control: () => here.control, [Symbol.asyncDispose]: () => here[Symbol.asyncDispose]() }
}

/** The results of the checks without quotes, because a quote in a message comes from a source or from the platform. */
async function checks(config: Config, scrub: Scrub, signal: AbortSignal) {
  const results = []
  const query = { connection: undefined, findDaemon: () => daemonForCheck(config) }
  const about = { ...query, events: silentEvents(), now: () => new Date(), signal }
  for await (const { name, level, code, message } of checkAll(config, about))
    results.push({ name: scrub.text(name), level, code, message: checkText({ name, level, message }, scrub) })
  return results
}

/** The message of a warning or of a failing source may hold the source's text, name or address; its code says what it is. */
function checkText(
  { name, level, message }: Pick<CheckResult, 'name' | 'level' | 'message'>,
  scrub: Scrub,
): string | null {
  if (level === 'warning') return null
  if (!name.startsWith('source of ') || level === 'rejected') return scrub.text(message)
  return level === 'ok' ? (/\d+ rows, .*$/.exec(message)?.[0] ?? null) : null
}

function machine() {
  const { node, openssl } = process.versions
  return {
    rollcall: version,
    ...{ node, openssl },
    system: `${process.platform} ${process.arch} ${release()}`,
    processors: availableParallelism(),
    memoryBytes: totalmem(),
    freeBytes: freemem(),
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    at: new Date().toISOString(),
    uptimeSeconds: Math.round(process.uptime()),
  }
}

/** The readable secrets, so that they can be removed from every text. */
async function secretTexts(config: Config): Promise<string[]> {
  const read = await Promise.all(secretsIn(config).map((secret) => secret.read().catch(() => '')))
  // The content of a file ends with a line break, which is not part of the secret.
  return read.flatMap((secret) => [secret, secret.trim()])
}

/** All secrets below a value, at any depth: a setting that is added later is covered as well. */
export function secretsIn(value: unknown, visited = new Set<unknown>()): Secret[] {
  if (typeof value !== 'object' || value === null || visited.has(value)) return []
  visited.add(value)
  if (value instanceof Secret) return [value]
  const parts = value instanceof Map || value instanceof Set ? [...value.values()] : Object.values(value)
  return parts.flatMap((part) => secretsIn(part, visited))
}

async function zip(parts: readonly Part[], scrub: Scrub): Promise<Buffer> {
  const archive = new ZipFile()
  for (const { name, content } of parts) archive.addBuffer(Buffer.from(scrub.file(escapeLines(content))), name)
  archive.end()
  return await buffer(archive.outputStream)
}

async function write(file: string, content: Uint8Array): Promise<void> {
  try {
    await writeFile(file, content, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    throw new Failure('usage', `${file} cannot be written (${errorCode(error)}): name a file that is not there yet`, {
      cause: error,
    })
  }
}

const about = `A support file, written by "rollcall doctor".

It holds no value of a person and no secret. People appear as "person-" and a digest whose key was made for this file and forgotten: the same
person has the same name in all parts of this file, and in no other. Texts that HR, the platform or an operator has written are left out or
counted. Of the configuration, texts that are not words of Rollcall or names of columns are left out. Of the environment, only names are here.
Rollcall writes its log to standard error and does not store it: add what your system has of it, such as journalctl -u rollcall, after you read it.
`
