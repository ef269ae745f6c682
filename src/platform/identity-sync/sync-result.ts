import { z } from 'zod'
import { Id, Timestamp } from '../../contract/platform/common.ts'
import { EmploymentStatus } from '../../contract/platform/personnel.ts'

/** The result of an identity sync. */
export const SyncResult = z
  .object({
    id: Id,
    trigger: z.enum(['schedule', 'operator']),
    startedAt: Timestamp,
    durationMs: z.int().min(0),
    identities: z.int().min(0).describe("Live records of the account's HRIS connections."),
    created: z.int().min(0).describe('People who had no personnel entry before.'),
    changed: z.int().min(0).describe('People whose status or dates changed.'),
    counts: z.record(EmploymentStatus, z.int().min(0)).describe('Everybody by employment status, after the sync.'),
  })
  .meta({ id: 'IdentitySync' })
export type SyncResult = z.infer<typeof SyncResult>
