import { X509Certificate } from 'node:crypto'
import { Failure } from '../../errors.ts'
import type { ChannelSettings } from '../config/channel.ts'
import { signedHeaders } from './post.ts'
import { certificates } from './smtp.ts'

/** Tests what a channel needs without sending anything, and describes the result. Throws `config_invalid` for a secret or file that cannot be used. */
export async function checkChannel(channel: ChannelSettings, { now }: { now: () => Date }): Promise<string> {
  const { name } = channel
  const at = `alerts.channels.${name}`
  switch (channel.type) {
    case 'webhook': {
      const host = hostOf(await channel.url.read(), at)
      const message = { id: 'check', body: '{}', now: now() }
      signedHeaders({ ...message, secret: await channel.secret.read(), setting: `${at}.secret` })
      return `${host}, the secret can be read and signs (nothing was posted)`
    }
    case 'pagerduty':
    case 'opsgenie': {
      const host = hostOf(await channel.url.read(), at)
      const key = (await channel.key?.read()) ?? ''
      const setting = channel.type === 'pagerduty' ? 'routingKey' : 'apiKey'
      if (channel.type === 'pagerduty' && !/^[A-Za-z0-9]{32}$/.test(key.trim()))
        throw new Failure(
          'config_invalid',
          `${at}.routingKey: is not the key of an integration, which has 32 characters`,
        )
      if (key.trim() === '') throw new Failure('config_invalid', `${at}.apiKey: is empty`)
      return `${host}, ${setting} can be read (nothing was posted)`
    }
    case 'slack':
    case 'teams':
      return `${hostOf(await channel.url.read(), at)}, the address can be read (nothing was posted)`
    case 'smtp': {
      const { host, port, tls, to, login, ca } = channel
      if (login && (await login.user.read()) === '') throw new Failure('config_invalid', `${at}.user: is empty`)
      if (login && (await login.password.read()) === '') throw new Failure('config_invalid', `${at}.password: is empty`)
      if (ca !== null) readCertificate(await certificates(ca, name), `${at}.ca: ${ca}`)
      const people = to.length === 1 ? '1 recipient' : `${to.length} recipients`
      const secrets = login === null ? '' : ', user and password can be read'
      return `${host}:${port} (${tls === 'none' ? 'no TLS' : tls}), ${people}${secrets} (nothing was sent)`
    }
    default:
      return channel satisfies never
  }
}

function hostOf(address: string, at: string): string {
  const url = URL.parse(address)
  if (url && /^https?:$/.test(url.protocol)) return url.host
  throw new Failure('config_invalid', `${at}.url: does not hold an address that begins with https:// or http://`)
}

function readCertificate(pem: string, subject: string): void {
  try {
    new X509Certificate(pem)
  } catch (error) {
    throw new Failure('config_invalid', `${subject} holds no certificate (PEM)`, { cause: error })
  }
}
