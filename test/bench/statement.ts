import { z } from 'zod'
import { type Row, ratio, round } from './figures.ts'
import { type EnvironmentOptions, openEnvironment } from './place.ts'
import { measure, measureStatedNight, Watched } from './tasks.ts'

/** An unchanged night, with the seconds of it that only the population statement needs. */
const StatedNight = Watched.extend({
  nightSeconds: z.number(),
  statementSeconds: z.number(),
  fileSeconds: z.number(),
  keysSeconds: z.number(),
})

/** The maximum share of the statement in an unchanged night, of at least this number of people. */
const limit = { share: 0.05, people: 100_000 }

/** What the population statement adds to a night on which nothing changes. */
export async function measureStatements(options: EnvironmentOptions): Promise<Row[]> {
  await using environment = await openEnvironment(options)
  await measure('plan', environment)
  await measure('deliver', environment)
  await environment.rest()
  await measure('plan', environment)
  await environment.rest()
  const night = StatedNight.parse(await measureStatedNight(environment))
  const { nightSeconds, statementSeconds, fileSeconds, keysSeconds } = night
  return [
    {
      'night s': round(nightSeconds),
      'statement s': round(statementSeconds),
      'SHA-256 of the file s': round(fileSeconds),
      'digest of the keys s': round(keysSeconds),
      'statement / night': ratio(statementSeconds + fileSeconds + keysSeconds, nightSeconds),
      asked: options.people >= limit.people ? limit.share : '',
    },
  ]
}
