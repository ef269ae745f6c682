import { deliveryOperations } from '../../contract/platform/delivery-operations.ts'
import { regions } from '../../daemon/config/platform-settings.ts'
import { type PermissionResult, testPermissions } from '../../daemon/probe/key-permissions.ts'
import { Failure, type FailureCode } from '../../errors.ts'
import { createClient } from '../../http/client/client.ts'
import { readProblem, readRegular } from '../../system/regular-file.ts'
import type { Prompts } from '../session/prompts.ts'

type PlatformAddress = { readonly region: keyof typeof regions } | { readonly baseUrl: string }

/** What a key may do, as far as the platform answered. */
export type TriedKey = {
  /** null: the platform could not be asked. */
  readonly permissions: readonly PermissionResult[] | null
  /** What keeps runs from working, although the configuration is written. */
  readonly trouble: { readonly code: FailureCode; readonly message: string } | null
}

const regionChoices = [
  { value: 'default', label: 'default (North America)' },
  { value: 'eu', label: 'eu' },
  { value: 'apac', label: 'apac' },
  { value: 'own', label: 'another platform, by its address' },
] as const

/** Where changes are sent, by options or by asking. */
export async function platformOf(
  { platformUrl, region }: { readonly platformUrl?: string; readonly region?: string },
  prompts: Prompts | null,
): Promise<PlatformAddress> {
  if (platformUrl !== undefined && region !== undefined)
    throw new Failure('usage', 'name either --region or --platform-url, not both')
  if (platformUrl !== undefined) return { baseUrl: requireAddress(platformUrl) }
  const named =
    region ?? (await prompts?.choose('In which region is the account of the platform?', regionChoices)) ?? 'default'
  if (named === 'own')
    return { baseUrl: requireAddress((await prompts?.text('What is its address?', regions.default)) ?? '') }
  if (named === 'default' || named === 'eu' || named === 'apac') return { region: named }
  throw new Failure('usage', `there is no region "${named}"; there are ${Object.keys(regions).join(', ')}`)
}

function requireAddress(address: string): string {
  if (URL.canParse(address)) return address
  throw new Failure('usage', `--platform-url takes an address such as ${regions.default}`)
}

/** The platform's key in a file. */
export async function keyIn(file: string): Promise<string> {
  try {
    const key = (await readRegular(file)).trim()
    if (key !== '') return key
    throw new Failure('config_invalid', `${file} is empty: write the platform's API key into it`)
  } catch (error) {
    if (error instanceof Failure) throw error
    const message = `cannot read the file ${file}${readProblem(error, "write the platform's API key into it")}`
    throw new Failure('config_invalid', message, { cause: error })
  }
}

type KeyToTry = {
  readonly platform: PlatformAddress
  readonly key: string
  readonly signal: AbortSignal
}

/** What the key may do. Problems with it are reported, and the configuration is written all the same. */
export async function tryKey({ platform, key, signal }: KeyToTry): Promise<TriedKey> {
  const baseUrl = ('baseUrl' in platform ? platform.baseUrl : regions[platform.region]).replace(/\/+$/, '')
  try {
    const client = createClient(deliveryOperations, { baseUrl, bearer: key, timeoutMs: 10_000 })
    const permissions = await testPermissions({ client, baseUrl }, signal)
    const missing = permissions.filter(({ isGranted, isVital }) => isGranted === false && isVital)
    if (missing.length === 0) return { permissions, trouble: null }
    const names = missing.map(({ permissions: any }) => any.join(' or ')).join(', ')
    return { permissions, trouble: { code: 'blocked', message: `the key lacks ${names}` } }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { permissions: null, trouble: { code: error.code, message: error.message } }
  }
}
