import { roles, type Telling } from './cast.ts'

const formerDay = '2024-12-31'
const lastDayWorked = { returner: formerDay, leaver: '2026-10-30', leaving: '2026-12-15', garden: '2026-11-06' }
const endOfContract = { returner: formerDay, leaver: '2026-10-31', leaving: '2026-12-31', garden: '2026-12-31' }
const personioKeys = Array.from({ length: roles.length }, (_, index) => String(17 + index * 13).padStart(5, '0'))

function counted(from: number, step = 1): string[] {
  return Array.from({ length: roles.length }, (_, index) => String(from + index * step))
}

function padded(prefix: string, from: number, digits: number): string[] {
  return counted(from).map((key) => `${prefix}${key.padStart(digits, '0')}`)
}

/** What the typical export of each system says. */
export const typical: Readonly<Record<string, Telling>> = {
  'adp-workforce-now': {
    keys: [...Array.from({ length: 10 }, (_, index) => `G3QZ7K0M${index}`), 'H8RW2C4N0', 'H8RW2C4N1'],
    managers: ['managerId', 'managerName'],
    tellsContractors: true,
    tellsStatus: true,
    lastDays: endOfContract,
    left: ['leaver'],
  },
  bamboohr: {
    keys: counted(101),
    managers: ['managerId', 'managerName'],
    tellsContractors: false,
    tellsStatus: true,
    lastDays: endOfContract,
    left: ['leaver'],
  },
  factorial: {
    keys: counted(880_001, 3),
    managers: ['managerId'],
    tellsContractors: false,
    tellsStatus: false,
    lastDays: endOfContract,
    left: [],
  },
  'frappe-hr': {
    keys: padded('HR-EMP-', 1, 5),
    managers: ['managerId'],
    tellsContractors: false,
    tellsStatus: true,
    lastDays: endOfContract,
    left: ['leaver'],
  },
  generic: {
    keys: counted(13001),
    managers: ['managerId'],
    tellsContractors: false,
    tellsStatus: true,
    lastDays: {},
    left: ['leaver'],
  },
  gusto: {
    keys: [
      ...['K7Q2MX', 'B4HN9T', 'R8WZ3C', 'D2LP6V', 'M9XK4B', 'T5GQ8N'],
      ...['W3CR7H', 'J6VM2P', 'N8BT5L', '', 'Q4ZK9D', 'H7NX3W'],
    ],
    managers: ['managerName'],
    tellsContractors: false,
    tellsStatus: true,
    lastDays: lastDayWorked,
    left: [],
    saidAhead: ['leaver'],
  },
  hibob: {
    keys: counted(3_000_001, 7),
    managers: ['managerId', 'managerName'],
    tellsContractors: true,
    tellsStatus: true,
    lastDays: { ...lastDayWorked, leaver: '2026-10-31' },
    left: ['leaver'],
  },
  odoo: {
    keys: counted(41_101).map((key) => `0${key}`),
    managers: ['managerName'],
    tellsContractors: false,
    tellsStatus: false,
    lastDays: endOfContract,
    left: [],
  },
  orangehrm: {
    keys: padded('', 1, 4),
    managers: ['managerName'],
    tellsContractors: false,
    tellsStatus: false,
    lastDays: endOfContract,
    left: [],
  },
  personio: {
    keys: personioKeys,
    managers: ['managerName'],
    tellsContractors: true,
    tellsStatus: true,
    lastDays: endOfContract,
    left: ['leaver'],
  },
  'personio-de': {
    keys: personioKeys,
    managers: ['managerName'],
    tellsContractors: true,
    tellsStatus: true,
    lastDays: endOfContract,
    left: ['leaver'],
  },
  rippling: {
    keys: counted(1001),
    managers: [],
    tellsContractors: true,
    tellsStatus: true,
    lastDays: endOfContract,
    left: ['leaver'],
  },
  'sap-hcm': {
    keys: padded('', 20_000, 8),
    managers: ['managerId'],
    tellsContractors: false,
    tellsStatus: true,
    lastDays: endOfContract,
    left: ['leaver'],
  },
  successfactors: {
    keys: counted(80001),
    managers: ['managerId'],
    tellsContractors: false,
    tellsStatus: false,
    lastDays: endOfContract,
    left: [],
    firstLine: 3,
  },
  'ukg-pro': {
    keys: counted(100_200, 3),
    managers: ['managerId', 'managerName'],
    tellsContractors: true,
    tellsStatus: true,
    lastDays: lastDayWorked,
    left: ['leaver'],
  },
  workday: {
    keys: counted(21001),
    managers: ['managerId', 'managerName'],
    tellsContractors: true,
    tellsStatus: true,
    // The last day of work is blank there until it has passed.
    lastDays: { ...lastDayWorked, leaving: '2026-12-31' },
    left: ['leaver'],
  },
  'zoho-people': {
    keys: padded('ZP', 1, 3),
    managers: ['managerName'],
    tellsContractors: false,
    tellsStatus: true,
    lastDays: endOfContract,
    left: ['leaver'],
  },
}
