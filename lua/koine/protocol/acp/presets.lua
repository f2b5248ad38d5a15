--- The programs of well-known agents, as their packages install them: name → {command, args}.
return { claude = { command = "claude-agent-acp" }, codex = { command = "codex-acp" },
  gemini = { command = "gemini", args = { "--acp" } } }
