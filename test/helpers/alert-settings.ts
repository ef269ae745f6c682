import type {
  AlertSettings,
  ChannelSettings,
  ChatOrIncidentChannel,
  SmtpChannel,
} from '../../src/daemon/config/channel.ts'
import { Secret } from '../../src/daemon/config/secret.ts'
import { alertSecret } from './sources/alert-receiver.ts'

/** Alerts as a configuration has them that says nothing of them. */
export const quietAlerts: AlertSettings = {
  link: null,
  consoleUrl: null,
  overdueMinutes: 60,
  pausedHours: 24,
  maxNotEffective: 0,
  contradictedNights: 3,
  maxGhosts: 0,
  freshHours: null,
  remindHours: 24,
  channels: [],
}

type Filter = Partial<Pick<ChannelSettings, 'name' | 'connections' | 'kinds'>>

export const secretText = (text: string): Secret => new Secret([{ text }])

/** A channel that posts signed alerts. */
export function webhookChannel(
  url: string,
  { secret = secretText(alertSecret), ...filter }: Filter & { secret?: Secret } = {},
): ChannelSettings {
  const all = { name: 'pager', connections: null, kinds: null }
  return { ...all, ...filter, type: 'webhook', url: secretText(url), secret, perHour: null }
}

/** A channel that posts to a chat on this machine. */
export function slackChannel(
  url: string,
  options: Filter & Partial<ChatOrIncidentChannel> = {},
): ChannelSettings & ChatOrIncidentChannel {
  const all = { name: 'chat', connections: null, kinds: null, perHour: 30, key: null }
  return { ...all, type: 'slack', url: secretText(url), allowPrivate: true, insecure: false, ...options }
}

/** A channel that sends mail over a server on this machine. */
export function smtpChannel(port: number, options: Filter & Partial<SmtpChannel> = {}): ChannelSettings & SmtpChannel {
  const all = { name: 'mail', connections: null, kinds: null, perHour: 30 }
  const mail = { from: 'rollcall@acme.example', to: ['ops@acme.example'], login: null, ca: null }
  return { ...all, type: 'smtp', host: '127.0.0.1', port, tls: 'none', ...mail, ...options }
}
