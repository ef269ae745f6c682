/**
 * The compliance checks of a device: which setting passes each, or else which document. The index is part of a check's id: add entries at
 * the end only.
 */
export const deviceChecks = [
  { type: 'HDD_ENCRYPTION', setting: 'encryption_enabled', document: 'HARD_DRIVE_ENCRYPTION_EVIDENCE' },
  { type: 'ANTIVIRUS', setting: 'antivirus_enabled', document: 'ANTIVIRUS_EVIDENCE' },
  { type: 'AUTO_UPDATES', setting: 'auto_update_enabled', document: 'AUTO_UPDATES_EVIDENCE' },
  { type: 'LOCK_SCREEN', setting: 'screen_lock_enabled', document: 'LOCK_SCREEN_EVIDENCE' },
  { type: 'PASSWORD_MANAGER', setting: 'password_manager_enabled', document: 'PASSWORD_MANAGER_EVIDENCE' },
] as const
