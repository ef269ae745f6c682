/** Reads the source of a configuration in JSON: `node read-people.ts SETTINGS SECRETS FOLDER`. */
import { openHttp, rowsOf } from './hr-server.ts'

const [settings = '', secrets = '', folder = ''] = process.argv.slice(2)

await rowsOf(await openHttp(JSON.parse(settings), { folder, secrets: JSON.parse(secrets) }))
