import { resolve } from 'node:path'
import {
  type AlertsFile,
  currentKind,
  deprecatedKinds,
  isDeprecatedKind,
  receiverAddresses,
  smtpPorts,
} from './alert-settings.ts'
import type { AlertSettings, ChannelSettings } from './channel.ts'
import type { ConfigDocument, Problem } from './document.ts'
import { problemAt } from './problems.ts'
import type { ConfigFile } from './schema.ts'
import { Secret } from './secret.ts'
import { type SecretContext, secretAt } from './secret-settings.ts'

type AlertContext = SecretContext & {
  /** The folder that paths are relative to. */
  readonly folder: string
  readonly publicUrl: string | undefined
}

type ChannelFile = AlertsFile['channels'][string]

/** The settings of alerts with their secrets wrapped and their paths absolute. */
export function toAlertSettings(
  { channels, link, freshHours, ...others }: AlertsFile,
  context: AlertContext,
): AlertSettings {
  const { publicUrl } = context
  return {
    ...others,
    link: link ?? null,
    consoleUrl: publicUrl === undefined ? null : new URL(publicUrl),
    freshHours: freshHours ?? null,
    channels: Object.entries(channels).map(([name, channel]) => toChannel(name, channel, context)),
  }
}

function toChannel(
  name: string,
  { connections, kinds, ...channel }: ChannelFile,
  context: AlertContext,
): ChannelSettings {
  const secret = (setting: string) => secretAt(context, ['alerts', 'channels', name, setting])
  const about = { name, connections: connections ?? null, kinds: kinds?.map(currentKind) ?? null }
  switch (channel.type) {
    case 'webhook':
      return { ...about, type: 'webhook', url: secret('url'), secret: secret('secret'), perHour: null }
    case 'slack':
    case 'teams':
      return { ...about, ...channel, url: secret('url'), key: null }
    case 'pagerduty':
    case 'opsgenie': {
      const { type, allowPrivate, insecure } = channel
      const key = secret(type === 'pagerduty' ? 'routingKey' : 'apiKey')
      return { ...about, type, url: receiverAddress(channel, secret), key, allowPrivate, insecure, perHour: null }
    }
    case 'smtp': {
      const { user, password: _password, port, ca, ...rest } = channel
      return {
        ...about,
        ...rest,
        port: port ?? smtpPorts[channel.tls],
        login: user === undefined ? null : { user: secret('user'), password: secret('password') },
        ca: ca === undefined ? null : resolve(context.folder, ca),
      }
    }
    default:
      return channel satisfies never
  }
}

type Receiver = Extract<ChannelFile, { type: 'pagerduty' | 'opsgenie' }>

function receiverAddress({ type, region, url }: Receiver, secret: (setting: string) => Secret): Secret {
  return url === undefined ? new Secret([{ text: receiverAddresses[type][region] }]) : secret('url')
}

/** Deprecated: removed after 0.1. A problem for each kind of alert that a channel names by its old name. */
export function deprecatedAlertKinds({ channels }: AlertsFile, document: ConfigDocument): Problem[] {
  return Object.entries(channels).flatMap(([name, { kinds = [] }]) =>
    kinds.flatMap((kind, index) => {
      if (!isDeprecatedKind(kind)) return []
      const current = deprecatedKinds[kind]
      const message = `${kind} is the old name of ${current}, and the next release refuses it: write ${current}`
      return problemAt(document, ['alerts', 'channels', name, 'kinds', index], message)
    }),
  )
}

/** A problem for each connection that a channel, the hand-over to HR or the weekly summary names and the configuration does not have. */
export function unknownConnections(
  { alerts, connections, handOver, weekly }: Pick<ConfigFile, 'alerts' | 'connections' | 'handOver' | 'weekly'>,
  document: ConfigDocument,
): Problem[] {
  const known = Object.entries(connections).flatMap(([name, { also }]) => [name, ...Object.keys(also)])
  const lists = [
    ...Object.entries(alerts.channels).map(([name, channel]) => ({
      path: ['alerts', 'channels', name],
      chosen: channel.connections ?? [],
    })),
    { path: ['handOver'], chosen: handOver?.connections ?? [] },
    { path: ['weekly'], chosen: weekly?.connections ?? [] },
  ]
  return lists.flatMap(({ path, chosen }) =>
    chosen.flatMap((connection, index) => {
      if (known.includes(connection)) return []
      const message = `there is no connection "${connection}"; there are ${known.join(', ')}`
      return problemAt(document, [...path, 'connections', index], message)
    }),
  )
}
