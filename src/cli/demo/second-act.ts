import type { Run } from '../../contract/control/shapes.ts'
import { type RunDetail, runDetail } from '../commands/run.ts'
import type { Control } from '../session/control-client.ts'
import { type Person, toCsv } from './company.ts'

/** An export that was cut: what was held, who decided what, and what the whole export changed afterwards. */
export type SecondAct = {
  readonly export: string
  /** The part of the export that has arrived. */
  readonly share: number
  readonly held: RunDetail
  readonly rejected: Run
  readonly repaired: Run
}

const cutShare = 0.6

/** The export without its last rows. One that ends within a row is refused before anything is planned. */
export function cutShort(people: readonly Person[]): string {
  return toCsv(people.slice(0, Math.floor(people.length * cutShare)))
}

/** Writes the cut export, has the plan shown and rejected, and writes the whole one. `night` reads and delivers the newest export. */
export async function secondAct(
  control: Control,
  { drop, night }: { drop: (which: 'cut' | 'whole') => Promise<string>; night: () => Promise<Run> },
): Promise<SecondAct> {
  const name = await drop('cut')
  const { id: runId } = await night()
  const held = await runDetail(control, runId, { values: true, whole: true })
  const rejected =
    held.state === 'held'
      ? await control.rejectRun({ params: { runId }, body: { reason: 'the export was cut short', by: 'the demo' } })
      : held
  await drop('whole')
  return { export: name, share: cutShare, held, rejected, repaired: await night() }
}
