import { expect, test } from 'vitest'
import { takeTurns } from '../../src/daemon/turns.ts'
import { Postponed } from '../../src/queue/jobs.ts'

test('of long runs two go on at a time, and short ones beside them', async () => {
  const turns = takeTurns()
  const end = Promise.withResolvers<void>()
  const done: string[] = []
  const does = (what: string) => async () => void done.push(what)

  const long = [turns(5000, () => end.promise), turns(1_000_000, () => end.promise)]
  await expect(turns(5000, does('third'))).rejects.toBeInstanceOf(Postponed)
  await turns(4999, does('short'))
  await turns(null, does('first of all'))
  end.resolve()
  await Promise.all(long)
  await turns(5000, does('third'))

  expect(done).toEqual(['short', 'first of all', 'third'])
})

test('a long run that fails makes room for the next one', async () => {
  const turns = takeTurns()
  const fails = () => Promise.reject(new Error('the source is gone'))

  for (let run = 0; run < 3; run++) await expect(turns(9000, fails)).rejects.toThrow('the source is gone')
})
