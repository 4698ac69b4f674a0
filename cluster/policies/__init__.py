"""Access policies as people write them: text in, `PolicyRules` or every problem by line out."""
