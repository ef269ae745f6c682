import type { AlertKind } from '../../contract/control/alerts.ts'
import type { Alert } from '../../store/alerts/alerts.ts'
import type { Secret } from './secret.ts'

/** When alerts are raised, and where they go. */
export type AlertSettings = {
  /** The address that messages show, with places for what they are about; null: none. */
  readonly link: string | null
  /** Where the console is, to whose pages messages lead without `link`; null: that is not known. */
  readonly consoleUrl: URL | null
  readonly overdueMinutes: number
  readonly pausedHours: number
  /** How old what HR said last may be; null: by the schedule of each connection. */
  readonly freshHours: number | null
  readonly remindHours: number
  /** Where alerts go, besides the log. */
  readonly channels: readonly ChannelSettings[]
}

/** Where alerts go, and which of them. */
export type ChannelSettings = {
  readonly name: string
  /** Null: all. */
  readonly connections: readonly string[] | null
  readonly kinds: readonly AlertKind[] | null
} & (WebhookChannel | SlackChannel | SmtpChannel)

/** A URL of the operator's, to which each alert is posted with a signature. */
export type WebhookChannel = {
  readonly type: 'webhook'
  /** May hold a token. */
  readonly url: Secret
  readonly secret: Secret
  readonly perHour: null
}

/** An incoming webhook of Slack, or of a chat that takes the same messages. */
export type SlackChannel = {
  readonly type: 'slack'
  readonly url: Secret
  readonly allowPrivate: boolean
  readonly insecure: boolean
  readonly perHour: number
}

/** A mail server and the recipients of its mails. */
export type SmtpChannel = {
  readonly type: 'smtp'
  readonly host: string
  readonly port: number
  readonly tls: 'implicit' | 'starttls' | 'none'
  readonly login: { readonly user: Secret; readonly password: Secret } | null
  readonly from: string
  readonly to: readonly string[]
  /** The file of the root certificates instead of the well-known ones. */
  readonly ca: string | null
  readonly perHour: number
}

/** The channel that every installation has. It takes every alert. */
export const logChannel = { name: 'log', connections: null, kinds: null, perHour: null } as const

/** What one message says of one alert: that it was raised or still is, or that it is over. */
export type AlertChange = {
  readonly type: 'raised' | 'cleared'
  readonly alert: Alert
  /** How many messages about the alert the channel was sent before. */
  readonly sentBefore: number
}

/** What one message says. `id` is the same when it is sent again, so that a receiver can recognise it. */
export type Notice = { readonly id: string; readonly now: Date } & (
  | AlertChange
  | { readonly type: 'group'; readonly changes: readonly AlertChange[] }
  | { readonly type: 'test' }
)

/** Why a message was not sent. */
export type Unsent = {
  /** For people. It holds nothing of the receiver's address but its host, and no text that the receiver wrote. */
  readonly failure: string
  /** How long the receiver asks to be left alone. */
  readonly retryAfterMs?: number | null
  /** Some recipients of a mail have taken it, so that it is not sent again. */
  readonly isTakenByOthers?: boolean
}

/** Sends to one channel. Null once the receiver has taken the message. Faults of the network and of the receiver are not thrown. */
export type Sender = AsyncDisposable & { send(notice: Notice, signal: AbortSignal): Promise<Unsent | null> }
