import { Agent, request } from 'undici'
import type { Config, WebhookConfig } from '../../daemon/config/config.ts'
import { type WebhookSample, webhookSample } from '../../daemon/webhooks/sample.ts'
import { errorCode, Failure, type FailureCode } from '../../errors.ts'
import { escapeText, type Paint } from '../render/text.ts'
import { findDaemon } from '../session/find-daemon.ts'
import { createOutput } from '../session/output.ts'
import { type CommonOptions, configOf, requireConnection } from '../session/session.ts'

/** The options of `rollcall webhook test`. */
export type WebhookTestOptions = CommonOptions & { readonly url?: string }

type WebhookTest = {
  readonly connection: string
  /** Where the sample went. */
  readonly url: string
  readonly id: string
  readonly status: number
  readonly answer: unknown
}

const timeoutMs = 10_000
const answerBytes = 64 * 1024

/** The exit code and advice for answers other than 200. */
const endings: Readonly<Record<number, { readonly code: FailureCode; readonly help: string }>> = {
  401: { code: 'blocked', help: 'the daemon has different secrets, signature settings or time than this command' },
  404: { code: 'not_found', help: 'the daemon has no webhook of this name: restart it with this configuration' },
  429: {
    code: 'already_active',
    help: 'the inbox is full: find out why its events are not planned',
  },
  503: { code: 'database_unreachable', help: 'the daemon cannot store events now: see its log' },
}

/** Signs a sample as the sender would, posts it to the daemon or to `url`, and shows what came back. */
export async function webhookTest(name: string, options: WebhookTestOptions): Promise<number> {
  const output = createOutput(options)
  const config = await configOf(options, { secrets: 'when needed' })
  const connection = requireConnection({ connection: name }, config)
  const sample = await webhookSample(webhookOf(config, connection), { now: new Date() })
  const url = options.url === undefined ? await addressOf(config, connection) : addressFrom(options.url)
  const { status, text } = await post(url, sample)
  if (status !== 200) throw refusalFailure(url, status, text)
  const result: WebhookTest = { connection, url: shownAddress(url), id: sample.id, status, answer: parseOrNull(text) }
  output.printResult(result, renderWebhookTest)
  return 0
}

/** Confirms that a sample event was accepted. */
export function renderWebhookTest({ connection, url, id, status }: WebhookTest, paint: Paint): string {
  return [
    `${paint('green', '✔')} ${connection}: a signed sample was sent to ${escapeText(url)} and answered with ${status}`,
    `  It is stored as ${id}, and no run reads it.`,
  ].join('\n')
}

function webhookOf({ connections }: Config, name: string): WebhookConfig {
  const webhook = connections.get(name)?.webhook
  if (webhook) return webhook
  throw new Failure(
    'usage',
    `connection "${name}" has no webhook in the configuration: add one below connections.${name}`,
  )
}

async function addressOf(config: Config, connection: string): Promise<URL> {
  const daemon = await findDaemon(config)
  if (daemon) return new URL(`${daemon.url}/webhooks/${connection}`)
  throw new Failure(
    'not_found',
    'no daemon answers for this configuration: start "rollcall serve", or name the address with --url',
  )
}

function addressFrom(text: string): URL {
  const url = URL.parse(text)
  if (url && /^https?:$/.test(url.protocol)) return url
  throw new Failure(
    'usage',
    '--url needs the whole address of the webhook, such as https://hooks.example.com/webhooks/acme',
  )
}

async function post(url: URL, { headers, body }: WebhookSample): Promise<{ status: number; text: string }> {
  const timeouts = { connect: { timeout: timeoutMs }, headersTimeout: timeoutMs, bodyTimeout: timeoutMs }
  const dispatcher = new Agent({ ...timeouts, maxResponseSize: answerBytes })
  try {
    const answer = await request(url, { method: 'POST', headers, body, dispatcher })
    return { status: answer.statusCode, text: await answer.body.text() }
  } catch (error) {
    const code = errorCode(error) ?? 'no answer'
    const help = 'check the address and the network'
    throw new Failure('source_unreachable', `${shownAddress(url)} does not answer (${code}): ${help}`, { cause: error })
  } finally {
    await dispatcher.destroy()
  }
}

function refusalFailure(url: URL, status: number, text: string): Failure {
  const { code, help } = endings[status] ?? {
    code: 'conflict',
    help: 'this is not a webhook of Rollcall, or a proxy answered',
  }
  const answer = parseOrNull(text)
  const message = isObject(answer) && typeof answer.message === 'string' ? ` (${escapeText(answer.message)})` : ''
  return new Failure(code, `${shownAddress(url)} answered ${status}${message}: ${help}`)
}

/** The address without the parts that may be secret. */
function shownAddress({ origin, pathname }: URL): string {
  return `${origin}${pathname}`
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
