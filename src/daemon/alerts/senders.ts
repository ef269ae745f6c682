import { randomUUID } from 'node:crypto'
import type { AlertTest } from '../../contract/control/alerts.ts'
import { Failure } from '../../errors.ts'
import { escapeJson } from '../../text/escape.ts'
import type { AlertSettings, ChannelSettings, Message, Sender, Unsent, WebhookChannel } from '../config/channel.ts'
import { type AlertLink, alertLinks } from './links.ts'
import { alertMessage } from './message.ts'
import { createPoster } from './post.ts'
import { postingSender } from './posting.ts'
import { smtpSender } from './smtp.ts'

const httpTimeoutMs = 10_000
/** Mail servers may check a sender before they answer. */
const smtpTimeoutMs = 30_000

type SenderOptions = {
  readonly linkOf: AlertLink
  /** The time limit of one message. Default: that of the channel type. */
  readonly timeoutMs?: number
}

/** Creates the sender of a channel. */
export function createSender(channel: ChannelSettings, { linkOf, timeoutMs }: SenderOptions): Sender {
  const { name } = channel
  switch (channel.type) {
    case 'webhook':
      return webhookSender(channel, { name, linkOf, timeoutMs: timeoutMs ?? httpTimeoutMs })
    case 'slack':
    case 'teams':
    case 'pagerduty':
    case 'opsgenie':
      return postingSender(channel, { name, linkOf, timeoutMs: timeoutMs ?? httpTimeoutMs })
    case 'smtp':
      return smtpSender(channel, { name, linkOf, timeoutMs: timeoutMs ?? smtpTimeoutMs })
    default:
      return channel satisfies never
  }
}

/** Sends a notice. A secret that cannot be read or cannot sign counts as unsent: it may be corrected before the next attempt. */
export async function sendBy(sender: Sender, notice: Message, signal: AbortSignal): Promise<Unsent | null> {
  try {
    return await sender.send(notice, signal)
  } catch (error) {
    if (error instanceof Failure) return { failure: error.message }
    throw error
  }
}

type TestOptions = {
  /** Default: all channels. */
  readonly channel?: string
  readonly now: Date
  readonly signal: AbortSignal
}

/** Sends a test message to one channel, or to all of them, and returns the result for each. */
export async function testAlerts(
  { channels, ...links }: Pick<AlertSettings, 'channels' | 'link' | 'consoleUrl'>,
  { channel: chosenName, now, signal }: TestOptions,
): Promise<AlertTest[]> {
  const chosen = channels.filter(({ name }) => chosenName === undefined || name === chosenName)
  if (chosen.length === 0) throw noChannel(channels, chosenName)
  const id = randomUUID()
  return await Promise.all(
    chosen.map(async (channel) => {
      await using sender = createSender(channel, { linkOf: alertLinks(links) })
      const unsent = await sendBy(sender, { type: 'test', id: `${id}_${channel.name}`, now }, signal)
      return { channel: channel.name, type: channel.type, failure: unsent?.failure ?? null }
    }),
  )
}

function noChannel(channels: readonly ChannelSettings[], chosenName: string | undefined): Failure {
  if (chosenName === undefined || channels.length === 0) {
    return new Failure('not_found', 'the configuration names no channel: add one below alerts.channels')
  }
  const names = channels.map(({ name }) => name).join(', ')
  return new Failure('not_found', `there is no channel "${chosenName}" in the configuration; it has ${names}`)
}

function webhookSender(
  { url, secret }: WebhookChannel,
  { name, linkOf, timeoutMs }: Required<SenderOptions> & { readonly name: string },
): Sender {
  const poster = createPoster({ timeoutMs })
  return {
    async send(notice, signal) {
      // The receiver of a webhook is a program, and gets a message for each alert.
      if (notice.type === 'group') return null
      const message = {
        url: await url.read(),
        secret: await secret.read(),
        setting: `alerts.channels.${name}.secret`,
        id: notice.id,
        body: escapeJson(JSON.stringify(alertMessage(notice, linkOf))),
        now: notice.now,
      }
      const unsent = await poster.post(message, signal)
      return unsent && { ...unsent, failure: `${URL.parse(message.url)?.host ?? 'url'} ${unsent.failure}` }
    },
    [Symbol.asyncDispose]: () => poster[Symbol.asyncDispose](),
  }
}
