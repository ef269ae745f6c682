import { type ExportContent, roles } from './cast.ts'

const formerDay = '2024-12-31'
const lastDayWorked = { returner: formerDay, leaver: '2026-10-30', leaving: '2026-12-15', garden: '2026-11-06' }
const endOfContract = { returner: formerDay, leaver: '2026-10-31', leaving: '2026-12-31', garden: '2026-12-31' }
const personioKeys = Array.from({ length: roles.length }, (_, index) => String(17 + index * 13).padStart(5, '0'))

function numberedKeys(from: number, step = 1): string[] {
  return Array.from({ length: roles.length }, (_, index) => String(from + index * step))
}

function padded(prefix: string, from: number, digits: number): string[] {
  return numberedKeys(from).map((key) => `${prefix}${key.padStart(digits, '0')}`)
}

/** What the typical export of each system says. */
export const typical: Readonly<Record<string, ExportContent>> = {
  'adp-workforce-now': {
    keys: [...Array.from({ length: 10 }, (_, index) => `G3QZ7K0M${index}`), 'H8RW2C4N0', 'H8RW2C4N1'],
    managers: ['managerId', 'managerName'],
    hasContractors: true,
    hasStatus: true,
    lastDays: endOfContract,
    leavers: ['leaver'],
  },
  bamboohr: {
    keys: numberedKeys(101),
    managers: ['managerId', 'managerName'],
    hasContractors: false,
    hasStatus: true,
    lastDays: endOfContract,
    leavers: ['leaver'],
  },
  factorial: {
    keys: numberedKeys(880_001, 3),
    managers: ['managerId'],
    hasContractors: false,
    hasStatus: false,
    lastDays: endOfContract,
    leavers: [],
  },
  'frappe-hr': {
    keys: padded('HR-EMP-', 1, 5),
    managers: ['managerId'],
    hasContractors: false,
    hasStatus: true,
    lastDays: endOfContract,
    leavers: ['leaver'],
  },
  generic: {
    keys: numberedKeys(13001),
    managers: ['managerId'],
    hasContractors: false,
    hasStatus: true,
    lastDays: {},
    leavers: ['leaver'],
  },
  gusto: {
    keys: [
      ...['K7Q2MX', 'B4HN9T', 'R8WZ3C', 'D2LP6V', 'M9XK4B', 'T5GQ8N'],
      ...['W3CR7H', 'J6VM2P', 'N8BT5L', '', 'Q4ZK9D', 'H7NX3W'],
    ],
    managers: ['managerName'],
    hasContractors: false,
    hasStatus: true,
    lastDays: lastDayWorked,
    leavers: [],
    announced: ['leaver'],
  },
  hibob: {
    keys: numberedKeys(3_000_001, 7),
    managers: ['managerId', 'managerName'],
    hasContractors: true,
    hasStatus: true,
    lastDays: { ...lastDayWorked, leaver: '2026-10-31' },
    leavers: ['leaver'],
  },
  odoo: {
    keys: numberedKeys(41_101).map((key) => `0${key}`),
    managers: ['managerName'],
    hasContractors: false,
    hasStatus: false,
    lastDays: endOfContract,
    leavers: [],
  },
  orangehrm: {
    keys: padded('', 1, 4),
    managers: ['managerName'],
    hasContractors: false,
    hasStatus: false,
    lastDays: endOfContract,
    leavers: [],
  },
  personio: {
    keys: personioKeys,
    managers: ['managerName'],
    hasContractors: true,
    hasStatus: true,
    lastDays: endOfContract,
    leavers: ['leaver'],
  },
  'personio-de': {
    keys: personioKeys,
    managers: ['managerName'],
    hasContractors: true,
    hasStatus: true,
    lastDays: endOfContract,
    leavers: ['leaver'],
  },
  rippling: {
    keys: numberedKeys(1001),
    managers: [],
    hasContractors: true,
    hasStatus: true,
    lastDays: endOfContract,
    leavers: ['leaver'],
  },
  'sap-hcm': {
    keys: padded('', 20_000, 8),
    managers: ['managerId'],
    hasContractors: false,
    hasStatus: true,
    lastDays: endOfContract,
    leavers: ['leaver'],
  },
  successfactors: {
    keys: numberedKeys(80001),
    managers: ['managerId'],
    hasContractors: false,
    hasStatus: false,
    lastDays: endOfContract,
    leavers: [],
    firstLine: 3,
  },
  'ukg-pro': {
    keys: numberedKeys(100_200, 3),
    managers: ['managerId', 'managerName'],
    hasContractors: true,
    hasStatus: true,
    lastDays: lastDayWorked,
    leavers: ['leaver'],
  },
  workday: {
    keys: numberedKeys(21001),
    managers: ['managerId', 'managerName'],
    hasContractors: true,
    hasStatus: true,
    // The last day of work is blank there until it has passed.
    lastDays: { ...lastDayWorked, leaving: '2026-12-31' },
    leavers: ['leaver'],
  },
  'zoho-people': {
    keys: padded('ZP', 1, 3),
    managers: ['managerName'],
    hasContractors: false,
    hasStatus: true,
    lastDays: endOfContract,
    leavers: ['leaver'],
  },
}
