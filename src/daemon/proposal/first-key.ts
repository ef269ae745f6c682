import { resolve } from 'node:path'
import { Failure } from '../../errors.ts'
import type { Config } from '../config/config.ts'
import type { PermissionResult } from '../probe/key-permissions.ts'

/** The platform's API key at a first visit. */
export type PlatformKey = {
  readonly isKnown: boolean
  /** The file for a key, if there is none; null: the key comes from elsewhere. */
  readonly file: string | null
  /** Why runs could not use it. `isLacking`: there is none. */
  readonly trouble: { readonly message: string; readonly isLacking: boolean } | null
}

/** Tests the permissions of a key without changing anything. */
export type KeyTrial = (key: string, signal: AbortSignal) => Promise<readonly PermissionResult[]>

const trialMs = 20_000

type KeyOptions = {
  readonly tryKey: KeyTrial
  /** A key that a person entered. */
  readonly entered: string | undefined
  readonly signal: AbortSignal
}

/** The state of the configured key, or of an entered one. Throws a failure if the platform refuses the entered key. */
export async function firstKey(config: Config, { tryKey, entered, signal }: KeyOptions): Promise<PlatformKey> {
  const stop = AbortSignal.any([signal, AbortSignal.timeout(trialMs)])
  const configured = await configuredKey(config)
  if (typeof configured === 'string') {
    const message = await troubleOf(configured, tryKey, stop).catch(messageOf)
    return { isKnown: true, file: null, trouble: message === null ? null : { message, isLacking: false } }
  }
  const file = fileOf(config)
  if (entered === undefined || file === null)
    return { isKnown: false, file, trouble: { message: configured.message, isLacking: true } }
  const message = await troubleOf(entered, tryKey, stop).catch((error: unknown) => {
    // An unreachable platform proves nothing about the key.
    if (error instanceof Failure && error.code === 'platform_unreachable') return error.message
    throw error
  })
  return { isKnown: false, file, trouble: message === null ? null : { message, isLacking: false } }
}

async function configuredKey({ platform }: Config): Promise<string | Failure> {
  try {
    const key = await platform.apiKey.read()
    return key === '' ? new Failure('config_invalid', 'the key of the platform is empty') : key
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
}

async function troubleOf(key: string, tryKey: KeyTrial, signal: AbortSignal): Promise<string | null> {
  const tried = await tryKey(key, signal)
  const missing = tried.filter(({ isGranted, isVital }) => isGranted === false && isVital)
  if (missing.length === 0) return null
  return `the key lacks ${missing.map(({ permissions }) => permissions.join(' or ')).join(', ')}`
}

function messageOf(error: unknown): string {
  if (error instanceof Failure) return error.message
  throw error
}

/** The file that the configuration names as the place of the key. */
function fileOf({ folder, platform }: Config): string | null {
  const [, path] = /^\$\{file:([^}]+)\}$/.exec(platform.apiKeyName.trim()) ?? []
  return path === undefined ? null : resolve(folder, path)
}
