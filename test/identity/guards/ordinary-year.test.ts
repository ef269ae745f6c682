import { expect, test } from 'vitest'
import { ordinaryYear } from '../../helpers/guards/ordinary-year.ts'
import { isFull } from '../../helpers/tier.ts'

const seeds = isFull ? [1, 2, 3, 4, 5] : [1]

test.each([60, 700, 2000])('a company of %d people is held at most four times in an ordinary year', (people) => {
  for (const seed of seeds) {
    const holds = ordinaryYear({ people, seed })
    process.stderr.write(
      `needless holds of ${people} people in 365 nights (seed ${seed}): ${holds.length}\n${holds.map(({ date, reasons }) => `  ${date} ${reasons.join('; ')}\n`).join('')}`,
    )
    expect(holds.length).toBeLessThanOrEqual(4)
  }
})
