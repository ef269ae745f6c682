import type { HrSystem } from './system.ts'
import { adp } from './systems/adp.ts'
import { finch, kombo, merge } from './systems/aggregators.ts'
import { bamboohr } from './systems/bamboohr.ts'
import { deel } from './systems/deel.ts'
import { factorial } from './systems/factorial.ts'
import { frappeHr } from './systems/frappe-hr.ts'
import { gusto } from './systems/gusto.ts'
import { hibob, hibobReport } from './systems/hibob.ts'
import { odoo } from './systems/odoo.ts'
import { oracleHcm } from './systems/oracle-hcm.ts'
import { personio, personioV2 } from './systems/personio.ts'
import { rippling } from './systems/rippling.ts'
import { scim } from './systems/scim.ts'
import { successfactors } from './systems/successfactors.ts'
import { ukgPro } from './systems/ukg-pro.ts'
import { workdayCsv, workdayJson } from './systems/workday.ts'

/** Every HR API that the tests know, one for each recipe. */
export const hrSystems: readonly HrSystem[] = [
  ...[
    workdayJson,
    workdayCsv,
    adp,
    bamboohr,
    personio,
    personioV2,
    hibob,
    hibobReport,
    rippling,
    gusto,
    successfactors,
  ],
  ...[ukgPro, deel, oracleHcm, factorial, frappeHr, odoo, merge, kombo, finch, scim],
]

/** The system of a recipe. */
export function requireSystem(name: string): HrSystem {
  const system = hrSystems.find((one) => one.name === name)
  if (!system) throw new Error(`no system ${name}`)
  return system
}
