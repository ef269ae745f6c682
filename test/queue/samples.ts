import type { BoundWorkers, JobRequest } from '../../src/queue/jobs.ts'

/** Workers that do nothing but what a test gives. */
export function workers(overrides: Partial<BoundWorkers>): BoundWorkers {
  const idle = async (): Promise<void> => {}
  return { run: idle, upsert: idle, update: idle, delete: idle, session: idle, ...overrides }
}

export const runId = '0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f'

export function upsert(batch: number, fields: { readonly id?: string; readonly delayMs?: number } = {}): JobRequest {
  return { name: 'upsert', payload: { runId, batch }, id: `upsert-${batch}`, ...fields }
}

/** A worker for upserts that records its batches, and a promise that resolves once it has the desired number. */
export function noting(desired: number) {
  const batches: number[] = []
  const enough = Promise.withResolvers<void>()
  const worker: BoundWorkers['upsert'] = async ({ batch }) => {
    batches.push(batch)
    if (batches.length === desired) enough.resolve()
  }
  return { batches, enough: enough.promise, workers: workers({ upsert: worker }) }
}
