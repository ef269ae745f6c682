import type { AlertKind } from '../../contract/control/alerts.ts'
import type { Alert } from '../../store/alerts/alerts.ts'
import type { Secret } from './secret.ts'

/** When alerts are raised, and where they go. */
export type AlertSettings = {
  /** The URL that messages show, with placeholders for their subject; null: no link. */
  readonly link: string | null
  /** The URL of the console, which messages link to without `link`; null: it is not known. */
  readonly consoleUrl: URL | null
  readonly overdueMinutes: number
  readonly pausedHours: number
  /** Maximum number of people of a connection whose status on the platform is another one than HR's data implies. */
  readonly maxNotEffective: number
  readonly contradictedNights: number
  /** Maximum number of accounts of a directory that are enabled although their person has left or is unknown to HR. */
  readonly maxGhosts: number
  /** The maximum age of HR's newest data in hours; null: by the schedule of each connection. */
  readonly freshHours: number | null
  readonly remindHours: number
  /** Where alerts go besides the log. */
  readonly channels: readonly ChannelSettings[]
}

/** A channel, and the alerts that it gets. */
export type ChannelSettings = {
  readonly name: string
  /** Null: all. */
  readonly connections: readonly string[] | null
  readonly kinds: readonly AlertKind[] | null
} & (WebhookChannel | ChatOrIncidentChannel | SmtpChannel)

/** A URL of the operator's, which each alert is posted to with a signature. */
export type WebhookChannel = {
  readonly type: 'webhook'
  /** May hold a token. */
  readonly url: Secret
  readonly secret: Secret
  /** Each alert is posted on its own, without a limit. */
  readonly perHour: null
}

/** A chat or incident service, each with its own JSON format. */
export type ChatOrIncidentChannel = {
  readonly type: 'slack' | 'teams' | 'pagerduty' | 'opsgenie'
  /** The address of a chat is a secret. */
  readonly url: Secret
  /** Null: the address is the secret. */
  readonly key: Secret | null
  readonly allowPrivate: boolean
  readonly insecure: boolean
  /** Maximum number of messages in an hour. Null: one message for each alert, for services that group alerts themselves. */
  readonly perHour: number | null
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

/** One alert in a message. `raised`: it is open; if `sentBefore` is above 0, the message is a reminder. `cleared`: it is over. */
export type AlertChange = {
  readonly type: 'raised' | 'cleared'
  readonly alert: Alert
  /** How many messages about the alert the channel got before. */
  readonly sentBefore: number
}

/** What one message says. `id` is the same when it is sent again, so that a receiver can recognise it. */
export type Message = { readonly id: string; readonly now: Date } & (
  | AlertChange
  | { readonly type: 'group'; readonly changes: readonly AlertChange[] }
  | { readonly type: 'test' }
)

/** Why a message was not sent. */
export type Unsent = {
  /** For people. It holds only the host of the receiver's address, and no text that the receiver wrote. */
  readonly failure: string
  /** How long the receiver asks to wait. */
  readonly retryAfterMs?: number | null
  /** Some recipients of a mail have it, so it is not sent again. */
  readonly isPartlyDelivered?: boolean
  /** The receiver takes no mail of this size. */
  readonly isTooLarge?: boolean
}

/** Sends to one channel. Null once the receiver has taken the message. Faults of the network and of the receiver are not thrown. */
export type Sender = AsyncDisposable & { send(notice: Message, signal: AbortSignal): Promise<Unsent | null> }
