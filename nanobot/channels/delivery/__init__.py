"""Carries what the bot says from the outbox to a chat platform: each message once, in order, whatever breaks."""
