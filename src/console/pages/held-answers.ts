import type { Run } from '../../contract/control/shapes.ts'
import { type Html, html } from '../../web/html.ts'
import type { PageContext, Site } from '../site/site.ts'
import { keyActions, keysCard } from './held-keys.ts'
import { valueActions, valuesCard } from './held-values.ts'

/** Adds what an operator can answer about a held plan: whether two keys are one person, and what an unknown value means. */
export function heldAnswerPages(site: Site): void {
  keyActions(site)
  valueActions(site)
}

/** The open questions of a held plan, and the answers since it was made; empty if there are none. */
export async function answersPart(run: Run, context: PageContext): Promise<Html> {
  const failed = (run.guards ?? []).filter(({ ok }) => !ok)
  const hasPairs = failed.some(({ name }) => name === 'rekeyed')
  // A person whose address changed with the key is in no pair: the operator has to enter both keys.
  const mayHavePairs = hasPairs || ((run.counts?.join ?? 0) > 0 && (run.counts?.leave ?? 0) > 0)
  const unlisted = failed.find(({ name }) => name === 'unlistedValues')
  return html`${mayHavePairs && (await keysCard(run, context))}${unlisted && (await valuesCard(run, context, unlisted.unlisted ?? []))}`
}
