import type { Example } from '../operation.ts'
import type { control } from './control.ts'
import type { live } from './live.ts'

const connection = 'hr'
const ofConnection = { connection }
const ofPerson = { connection, identityId: 'E-1042' }
const ofRun = { runId: '0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f' }
const ofUpload = { upload: '0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f' }
const ofList = { list: '0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f' }
const firstConnection = { reading: {}, name: 'HR', folder: 'exports', timeZone: 'Europe/Berlin' }
const digest = 'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'
const anotherHour = { schedule: "schedule:\n  cron: '0 3 * * *'" }
const change = '0198c5d1-1a2b-4c3d-8e4f-5a6b7c8d9e0f'
const quarter = { from: '2026-10-01', to: '2026-12-31', connection }
const reason = 'HR confirmed it by telephone'

/** A request for every operation that takes anything. People and runs are invented. */
export const controlExamples: { readonly [name in keyof typeof control | keyof typeof live]?: Example } = {
  testAlerts: { bodies: { 'One channel': { channel: 'ops' }, 'Every channel': {} } },
  listRuns: { query: { connection, state: ['held', 'failed'], limit: 20 } },
  getRun: { params: ofRun },
  findRuns: { params: { name: 'last' }, query: { connection } },
  listChanges: { params: ofRun, query: { kind: 'leave', values: true } },
  summarizeRun: { params: ofRun },
  listRejects: { params: ofRun, query: { limit: 100 } },
  startRun: {
    params: ofConnection,
    bodies: { 'What HR says now': {}, 'Everybody again': { full: true }, 'One person': { person: 'E-1042' } },
  },
  planConnection: { params: ofConnection, query: { values: false } },
  planPerson: { params: ofConnection, bodies: { 'By e-mail address': { person: 'ana.berg@acme.example' } } },
  runAccount: { params: ofRun },
  revertRun: { params: ofRun, bodies: { 'A column was shifted': { reason: 'the export had its columns shifted' } } },
  listPlanGroups: { params: ofRun, query: { search: 'sales', limit: 20 } },
  previewPart: { params: ofRun, bodies: { 'The leavers of one group': { kinds: ['leave'], groups: ['Sales'] } } },
  approveRun: {
    params: ofRun,
    bodies: {
      'A planned layoff': { digest, reason: 'the office in Bremen has closed' },
      'The leavers alone': { digest, part: { kinds: ['leave'] }, reason },
    },
  },
  rejectRun: { params: ofRun, bodies: { 'A cut export': { reason: 'the export was cut off; HR sends it again' } } },
  cancelRun: { params: ofRun, bodies: { 'End it': {} } },
  listProblems: { query: { connection } },
  listBlockedPeople: { query: { connection } },
  listForeign: { query: { connection } },
  listLeftOut: { query: { connection } },
  separateForeign: {
    params: ofConnection,
    bodies: { 'Left before the move': { identityIds: ['E-1042', 'E-1043'], on: '2026-10-31', reason } },
  },
  listNotEffective: { query: { connection } },
  listEffective: { query: { connection, cause: 'set_by_hand', values: true } },
  compareEffective: { query: { directory: 'okta' } },
  compareAccounts: {
    bodies: {
      'An account': {
        directory: 'accounts.csv',
        accounts: [{ id: '00u1', login: 'ana.berg@acme.example', isEnabled: true, employeeNumber: 'E-1042' }],
      },
    },
    query: { values: true },
  },
  fixEffective: { bodies: { 'Edited by mistake': { connection, keys: ['E-1042'], reason } } },
  reportLeavers: { query: quarter },
  packLeavers: { query: quarter },
  status: { query: { search: 'berlin', state: 'problems' } },
  getHandOver: { query: { connection, perGroup: 20 } },
  getHandOverFile: { query: { connection, format: 'xlsx' } },
  unblockConnection: { params: ofConnection, bodies: { 'The key was replaced': {} } },
  getStatement: { params: ofConnection, query: { at: '2026-11-20' } },
  listStatementPeople: { params: ofConnection, query: { side: 'stated', part: 'deferred', values: false } },
  listValues: { params: ofConnection },
  classifyValue: {
    params: ofConnection,
    bodies: { 'A status that means employed': { value: 'On leave', as: 'employed' } },
  },
  listEvents: { params: ofConnection, query: { state: 'rejected', order: 'newest' } },
  retryEvents: {
    params: ofConnection,
    bodies: { 'All that were rejected': {}, 'Some of them': { ids: ['1042', '1043'] } },
  },
  dismissEvents: { params: ofConnection, bodies: { 'One event': { ids: ['1042'] } } },
  getPerson: { params: ofPerson, query: { values: true } },
  searchPeople: { query: { search: 'berg', limit: 20 } },
  connectionHistory: { params: ofConnection, query: { days: 30 } },
  retractPerson: { params: ofPerson, bodies: { 'Sent in error': { reason } } },
  withdrawRetraction: { params: ofPerson, bodies: { 'Take it back': {} } },
  forgetPerson: { params: ofPerson, bodies: { 'On request': { reason: 'request of 2026-11-20' } } },
  listHoldBacks: { params: ofConnection },
  listStatedDepartures: { params: ofConnection },
  stateDeparture: {
    params: ofPerson,
    bodies: { Today: { reason }, 'At the end of the month': { on: '2026-11-30', reason } },
  },
  withdrawDeparture: { params: ofPerson, bodies: { 'The wrong person': { reason: 'the key was mistyped' } } },
  holdBack: { params: ofPerson, bodies: { 'Until HR has corrected it': { until: '2026-12-01', reason } } },
  endHoldBack: { params: ofPerson, bodies: { 'HR has corrected it': {} } },
  listKeys: { params: ofConnection },
  answerKeys: { params: ofConnection, bodies: { 'One person': { former: 'E-1042', identityId: 'N-77', same: true } } },
  withdrawKeys: { params: ofConnection, bodies: { 'It was a mistake': { former: 'E-1042', identityId: 'N-77' } } },
  answerPairs: { params: ofRun, bodies: { 'All are one person each': { same: true } } },
  getPause: { params: ofConnection },
  getConnectionSettings: { params: ofConnection },
  getConnectionColumns: { params: ofConnection },
  chooseConnectionColumns: {
    params: ofConnection,
    bodies: { 'A new name for a column': { digest, fields: { email: 'Work mail' } } },
  },
  previewConnectionSettings: { params: ofConnection, bodies: { 'Another hour': { digest, sections: anotherHour } } },
  previewStoredSettings: { params: ofConnection, bodies: { 'The change that waits': { change: 'waiting' } } },
  changeConnectionSettings: { params: ofConnection, bodies: { 'Another hour': { digest, sections: anotherHour } } },
  undoConnectionSettings: { params: ofConnection, bodies: { 'Put it back': { digest } } },
  approveConnectionSettings: { params: ofConnection, bodies: { 'As the second admin': { id: change } } },
  rejectConnectionSettings: { params: ofConnection, bodies: { 'As the second admin': { id: change } } },
  pauseConnection: { params: ofConnection, bodies: { 'While HR moves': { reason: 'HR moves to another system' } } },
  resumeConnection: { params: ofConnection, bodies: { 'HR has moved': {} } },
  createToken: { bodies: { 'A dashboard': { name: 'dashboard', role: 'viewer' } } },
  revokeToken: { params: { name: 'dashboard' }, bodies: { 'No longer used': {} } },
  listSources: { query: { connection } },
  getSource: { params: ofRun },
  listSchedules: { query: { connection } },
  uploadExport: { query: { name: 'people.csv' } },
  readAddress: {
    bodies: {
      'A list with a token': {
        url: 'https://hr.example.com/v1/employees',
        signIn: { with: 'bearer', token: 'the token itself' },
      },
    },
  },
  dropExport: { params: ofUpload },
  proposeReading: {
    params: ofUpload,
    bodies: { 'As it is found': {}, 'With a status classed': { statuses: { 'On leave': 'employed' } } },
  },
  planFirstRun: { params: ofUpload, bodies: { 'As it was proposed': firstConnection } },
  makeFirstConnection: { params: ofUpload, bodies: { 'What the plan showed': { ...firstConnection, digest } } },
  readList: {
    bodies: {
      'A list of users by SCIM': {
        ...{ recipe: 'scim', name: 'HR', timeZone: 'Europe/Berlin' },
        parameters: { host: 'hr.example.com' },
        credentials: { bearer: 'the token itself' },
      },
    },
  },
  getList: { params: ofList },
  dropList: { params: ofList },
  planScim: { bodies: { 'Okta pushes': { name: 'HR', timeZone: 'Europe/Berlin' } } },
  connectScim: { bodies: { 'What the preview showed': { name: 'HR', timeZone: 'Europe/Berlin', digest } } },
  connectList: { params: ofList, bodies: { 'What the list showed': { digest } } },
  readAudit: { query: { act: 'run', connection, limit: 20 } },
  verifyAudit: { bodies: { 'With the key of the installation': {} } },
  exportAudit: { query: { from: '2026-10-01T00:00:00Z', to: '2027-01-01T00:00:00Z', connection } },
  replaceAuditKey: { bodies: { 'The key was seen': { reason: 'the key was in a backup that left the company' } } },
  backUpStore: { bodies: { 'Every night': { file: '/var/backups/rollcall/2026-11-20.rollcall' } } },
  restoreStore: {
    bodies: {
      'After the disk was lost': { file: '/var/backups/rollcall/2026-11-20.rollcall', reason: 'the disk was lost' },
    },
  },
  watchLive: { query: { connection } },
}
