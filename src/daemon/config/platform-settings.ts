import { z } from 'zod'
import { secretReference } from '../../connectors/file/source-settings.ts'
import { addressFaults } from './platform-address.ts'

/** The base addresses of the platform's regions. */
export const regions = {
  default: 'https://public-api.drata.com/public/v2',
  eu: 'https://public-api.eu.drata.com/public/v2',
  apac: 'https://public-api.apac.drata.com/public/v2',
} as const

const regionNames = ['default', 'eu', 'apac'] as const satisfies readonly (keyof typeof regions)[]

/** How the platform is reached, as the file has it. */
export const PlatformSettings = z
  .strictObject({
    region: z.enum(regionNames).optional().describe('The region of the account. Default: default (North America).'),
    baseUrl: z
      .url({ protocol: /^https?$/, error: 'expected an address that begins with https:// or http://' })
      .optional()
      .describe('The address of the API, instead of region, for a platform of your own.'),
    insecure: z
      .boolean()
      .default(false)
      .describe(
        'Allows http:// in baseUrl for another machine. Anyone on the way can then read and change what is sent, and the API key.',
      ),
    caFile: z
      .string()
      .min(1)
      .optional()
      .describe(
        "The file of the root certificates (PEM) that the platform's certificate must lead to, instead of the well-known ones. Relative " +
          'to the folder of the configuration file.',
      ),
    apiKey: z
      .string()
      .min(1, { error: 'is empty: check the variable or the file that it comes from' })
      .describe(`The API key, as ${secretReference}. The key itself may not be written here.`),
    timeoutMs: z
      .int()
      .min(1000)
      .max(600_000)
      .default(30_000)
      .describe('How long one request may take, in milliseconds.'),
    requestsPerMinute: z
      .int()
      .min(1)
      .default(450)
      .describe(
        'Maximum number of requests per minute of all processes that share a database. The platform allows 500 for one address.',
      ),
    inFlight: z.int().min(1).max(16).default(4).describe('Maximum number of open requests of one process.'),
  })
  .refine(({ region, baseUrl }) => region === undefined || baseUrl === undefined, {
    path: ['baseUrl'],
    error: 'name either region or baseUrl, not both',
  })
  .superRefine((platform, context) => {
    for (const [setting, message] of addressFaults(platform))
      context.addIssue({ code: 'custom', path: [setting], message })
  })
  .describe('Where changes go, and how fast.')
