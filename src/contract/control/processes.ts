import { z } from 'zod'
import { processRoles } from './process-roles.ts'

/** A task that a process of the daemon can have. */
export const ProcessRole = z.enum(processRoles)
export type ProcessRole = z.infer<typeof ProcessRole>

const Instant = z.string().describe('An instant in ISO 8601, in UTC.')

/** A process of the daemon that uses this store. */
export const Process = z
  .object({
    roles: z.array(ProcessRole).readonly(),
    host: z.string(),
    pid: z.int(),
    version: z.string(),
    since: Instant.describe('When it started, or took up its configuration.'),
    seenAt: Instant.describe('When it last said that it lives.'),
    differs: z
      .array(z.string())
      .readonly()
      .describe(
        'The connections that it has with other settings than another process, and `general` for settings of no connection.',
      ),
  })
  .meta({ id: 'Process' })
export type Process = z.infer<typeof Process>

/** The result of a reload of the configuration. */
export const Reload = z
  .object({
    at: Instant,
    refused: z
      .string()
      .nullable()
      .describe('Why the configuration was refused; the former one stays. Null: it is in effect.'),
  })
  .meta({ id: 'Reload' })
export type Reload = z.infer<typeof Reload>
