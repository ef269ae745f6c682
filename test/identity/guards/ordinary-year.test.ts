import { expect, test } from 'vitest'
import { ordinaryYear } from '../../helpers/guards/ordinary-year.ts'
import { firstOf, isFull } from '../../helpers/tier.ts'
import { reportTrials } from '../../helpers/trials.ts'

const seeds = isFull ? [1, 2, 3, 4, 5] : [1]

test.for(firstOf(2, [60, 700, 2000]))(
  'guards hold plans of a company of %d people at most four times in an ordinary year',
  (people, { task }) => {
    const years = seeds.map((seed) => ordinaryYear({ people, seed }))
    reportTrials(task, {
      subject: `ordinary years of ${people} people`,
      times: `${years.length} years`,
      result: `needless holds a year: ${years.map((holds) => holds.length).join(', ')}`,
    })
    for (const holds of years) {
      expect(holds.slice(4)).toEqual([])
    }
  },
)
