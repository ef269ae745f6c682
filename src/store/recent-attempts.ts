/** Maximum number of attempts remembered of a batch. */
export const maxRecentAttempts = 10
