import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { z } from 'zod'
import type { ConnectorContext, OpenOptions, Reading } from '../../../src/connectors/connector.ts'
import { defineConnectorKind } from '../../../src/connectors/kind.ts'

const Cards = z.strictObject({
  type: z.literal('cards'),
  deck: z.string().describe('The file of the deck, a card a line.'),
  stamp: z.string().optional().describe('The word that a deck must begin with.'),
  mode: z.enum(['snapshot', 'delta']),
  timeZone: z.string().default('UTC'),
})

/** A made-up kind of source: a deck of cards, of which each is one person. */
export const cardsKind = defineConnectorKind({
  settings: Cards,
  secrets: ['stamp'],
  possibleSecrets: [],
  isFile: true,
  isTextExport: () => false,
  connect: (settings, context) => ({ open: (options) => openDeck(settings, context, options) }),
  discovery: {
    schemes: ['cards:'],
    async preview({ location: at }, { configFolder: folder }) {
      const deck = at.slice('cards://'.length)
      const bytes = await readFile(resolve(folder, deck))
      return {
        head: { name: deck, bytes, isWhole: true, hasFinalLineEnd: true },
        source: { type: 'cards', deck },
        laterExports: null,
      }
    },
  },
})

async function openDeck(
  { deck, mode }: z.infer<typeof Cards>,
  { baseDir, secret }: ConnectorContext,
  { now }: OpenOptions,
): Promise<Reading> {
  const text = await readFile(resolve(baseDir, deck), 'utf8')
  const stamp = (await secret('stamp')?.read()) ?? ''
  const [headers = [], ...cards] = text
    .slice(stamp.length)
    .trim()
    .split('\n')
    .map((line) => line.split(','))
  const rows = cards.map((values, index) => ({ values, origin: { file: deck, line: index + 2 } }))
  return {
    mode,
    asOf: now().toISOString(),
    source: { name: deck, bytes: text.length, version: text },
    headers,
    rows: (async function* () {
      yield rows
    })(),
  }
}
