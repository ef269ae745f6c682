import { z } from 'zod'

export const AuditFramework = z
  .enum([
    'SOC_2_TYPE_1',
    'SOC_2_TYPE_2',
    'ISO_27001',
    'HIPAA',
    'PCI',
    'GDPR',
    'SCF',
    'NIST80053',
    'NISTCSF',
    'CMMC',
    'NIST800171',
    'MSSSPA',
    'FFIEC',
    'CCPA',
    'ISO_27701',
    'COBIT',
    'SOX_ITGC',
    'ISO_27001_2022',
    'CCM',
    'CYBER_ESSENTIALS',
    'ISO_27017_2015',
    'ISO_27018_2019',
    'NISTAI',
    'PCI4',
    'FEDRAMP',
    'NISTCSF2',
    'NIS2',
    'DORA',
    'ISO_42001_2023',
    'DRATA_ESSENTIALS',
    'NIST800171R3',
    'CIS8',
    'CYBER_ESSENTIALS_32',
    'FEDRAMP20X',
    'HITRUST',
    'MSSSPA11',
    'ESSENTIAL_EIGHT',
    'NYDFS',
    'TISAX',
    'ISO_27018_2025',
    'CCPA2026',
    'ISO_27701_2025',
    'CPS230',
    'CYFUN',
    'AIUC_1',
    'CUSTOM',
  ])
  .meta({ id: 'AuditorFrameworkTypeEnum' })
export type AuditFramework = z.infer<typeof AuditFramework>

export const AuditType = z.enum(['FULL_AUDIT', 'DOWNLOAD_ONLY_AUDIT']).meta({ id: 'AuditTypeEnum' })
export type AuditType = z.infer<typeof AuditType>

export const AuditStatus = z
  .enum(['PREPARING', 'ACTIVE', 'COMPLETED'])
  .meta({ id: 'AuditorFrameworkOverhaulStatusEnum' })
export type AuditStatus = z.infer<typeof AuditStatus>
