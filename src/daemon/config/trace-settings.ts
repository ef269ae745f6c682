import { z } from 'zod'
import { secretReference } from '../../connectors/file/source-settings.ts'
import { isUnencrypted } from './platform-address.ts'

const tracesPath = '/v1/traces'

/** The section `traces` of the configuration file, before references are resolved. */
export const TracesFile = z
  .strictObject({
    endpoint: z
      .string()
      .refine((at) => at === '' || z.url({ protocol: /^https?$/ }).safeParse(at).success, {
        error: 'expected an address that begins with https:// or http://, or nothing',
      })
      .refine((at) => !URL.parse(at)?.username && !/[?#]/.test(at), {
        error: 'takes no user name, no password and no parameters: put secrets into headers',
      })
      .refine((at) => !at.endsWith(tracesPath), { error: `is completed by ${tracesPath}: leave that out` })
      .default('')
      .describe(
        'The address of a collector for OTLP over HTTP as JSON, such as http://127.0.0.1:4318; /v1/traces is appended. Empty: no traces.',
      ),
    headers: z
      .record(
        z.string().regex(/^[A-Za-z0-9-]+$/, { error: 'the name of a header has letters, digits and -' }),
        z.string().min(1, { error: 'is empty: check the variable or the file that it comes from' }),
      )
      .default({})
      .describe(`Headers that the collector requires, such as authorization, each as ${secretReference}.`),
    sampleRatio: z
      .number()
      .min(0)
      .max(1)
      .default(1)
      .describe('The share of runs that are traced, from 0 to 1. Equal in all processes of a store.'),
    serviceName: z
      .string()
      .min(1)
      .max(100)
      .default('rollcall')
      .describe('The service name of this installation in the traces.'),
  })
  .superRefine(({ endpoint, headers }, context) => {
    if (!isUnencrypted(endpoint) || Object.keys(headers).length === 0) return
    const message = 'http:// is not encrypted, and neither are the headers: write https://'
    context.addIssue({ code: 'custom', path: ['endpoint'], message })
  })
  .describe('Sends a trace of each run to a collector of OpenTelemetry. Off by default.')

export type TracesFile = z.infer<typeof TracesFile>
